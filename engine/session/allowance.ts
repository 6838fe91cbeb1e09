import { LIMITS } from '../../protocol/limits.ts';
import { OP } from '../../protocol/opcodes.ts';

/**
 * This many heartbeats, IDENTIFYs and RESUMEs per window do not count. Stock clients count only other payloads against
 * their own limit of 120, and would be disconnected for a heartbeat that they must send.
 */
const VITAL_FREE_MAX = 5;
/** Client and server disagree on when a window ends; ours ends this much earlier. */
const WINDOW_SLACK_MS = 500;

const isVital = (op: number): boolean => op === OP.HEARTBEAT || op === OP.IDENTIFY || op === OP.RESUME;

/**
 * The send budget of one connection: 120 payloads in 60 s, of which 5 presence updates in 20 s. Fixed windows, each
 * started by the first payload after the previous window.
 *
 * @source https://docs.discord.com/developers/events/gateway#rate-limiting and
 * https://docs.discord.com/developers/events/gateway-events#activity-object
 */
export class Allowance {
  #windowEndsMs = 0;
  #total = 0;
  #vital = 0;
  #presenceEndsMs = 0;
  #presences = 0;

  /** Counts a payload. False when the budget is exceeded; the connection must then be closed with 4008. */
  take(op: number, nowMs: number): boolean {
    if (nowMs >= this.#windowEndsMs) {
      this.#windowEndsMs = nowMs + LIMITS.gateway_events_ms - WINDOW_SLACK_MS;
      this.#total = 0;
      this.#vital = 0;
    }
    this.#total += 1;
    if (isVital(op)) this.#vital += 1;
    const counted = this.#vital > VITAL_FREE_MAX ? this.#total : this.#total - this.#vital;
    return counted <= LIMITS.gateway_events_max;
  }

  /** Counts a presence update and returns how long it must wait, in milliseconds; 0 for no wait. */
  takePresence(nowMs: number): number {
    if (nowMs >= this.#presenceEndsMs) {
      this.#presenceEndsMs = nowMs + LIMITS.presence_updates_ms;
      this.#presences = 0;
    }
    if (this.#presences >= LIMITS.presence_updates_max) return this.#presenceEndsMs - nowMs;
    this.#presences += 1;
    return 0;
  }
}
