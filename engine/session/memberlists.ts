import { INTENTS } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';

/** What Request Guild Members asks for, as far as its limits go. */
interface Request {
  readonly guildId: string;
  readonly query: string | null;
  readonly limit: number;
}

/** True when the request is for every member: an empty query without a limit. */
export const asksForAll = (request: Request): boolean => request.query === '' && request.limit === 0;

/** Requests remembered before those whose time is over are looked for. */
const SWEEP_FROM = 1024;

/**
 * The whole member list of a guild may be asked for once in 30 s by one bot, over all its sessions.
 *
 * @source https://docs.discord.com/developers/change-log#introducing-rate-limit-when-requesting-all-guild-members
 */
export class MemberListRequests {
  readonly #freeAtMs = new Map<string, number>();
  #sweepAt = SWEEP_FROM;

  /** Milliseconds until it may be asked for again; 0: now, and it counts as asked. */
  take(userId: string, guildId: string, nowMs: number): number {
    const key = `${userId}:${guildId}`;
    const freeAtMs = this.#freeAtMs.get(key) ?? 0;
    if (nowMs < freeAtMs) return freeAtMs - nowMs;
    if (this.#freeAtMs.size >= this.#sweepAt) this.#sweep(nowMs);
    this.#freeAtMs.set(key, nowMs + LIMITS.member_request_ms);
    return 0;
  }

  #sweep(nowMs: number): void {
    for (const [key, freeAtMs] of this.#freeAtMs) if (nowMs >= freeAtMs) this.#freeAtMs.delete(key);
    this.#sweepAt = Math.max(SWEEP_FROM, this.#freeAtMs.size * 2);
  }
}

/**
 * What a bot's intents leave of its request: no presences without GUILD_PRESENCES. Null: the request is for every
 * member and the session lacks GUILD_MEMBERS; the platform leaves it unanswered.
 */
export function grantedRequest<R extends Request & { readonly presences: boolean }>(
  request: R,
  intents: number,
): R | null {
  if (asksForAll(request) && (intents & INTENTS.GUILD_MEMBERS) === 0) return null;
  const presences = request.presences && (intents & INTENTS.GUILD_PRESENCES) !== 0;
  return { ...request, presences };
}
