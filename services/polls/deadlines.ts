import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { DuePoll, MessageStore } from '../../storage/message/port.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';

interface PollDeadlinePorts {
  readonly store: Pick<MessageStore, 'duePolls' | 'nextPollMs' | 'forgetPoll'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly routing: Pick<Routing, 'owns'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly inPrivate: InPrivate;
  readonly onFault: (error: unknown) => void;
}

/** Polls ended at a time, and the pause between batches. */
const STEP_POLLS = 64;
const STEP_MS = 100;
const RETRY_MS = 5_000;
/** Retry interval for overdue polls of other shards. */
const FOREIGN_RETRY_MS = 1_000;
/** How often the next deadline is read. The shortest poll lasts an hour, so new polls need no notification. */
const LOOK_MS = 60_000;

/**
 * Ends polls at their deadlines. Deadlines are in the database and survive a crash and a change of owner; only the next one
 * is awaited here. The owner of the channel decides whether the poll ends.
 */
export class PollDeadlines {
  readonly #ports: PollDeadlinePorts;
  #timer: Timer | null = null;
  /** The last poll of the batch before; null at the beginning of a round through all overdue polls. */
  #after: DuePoll | null = null;
  /** The least delay before the next round, by what this round has met. */
  #leastMs = STEP_MS;

  constructor(ports: PollDeadlinePorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  start(): void {
    this.#later(STEP_MS);
  }

  #later(delayMs: number): void {
    if (this.#ports.scope.over) return;
    this.#timer = this.#ports.wheel.add(() => void this.#endDue(), delayMs);
  }

  async #endDue(): Promise<void> {
    this.#timer = null;
    let delayMs = RETRY_MS;
    try {
      delayMs = await this.#endBatch();
    } catch (error) {
      if (!this.#ports.scope.over) this.#ports.onFault(error);
    }
    this.#later(delayMs);
  }

  /** Ends the next batch of a round. @returns The delay before the next batch, or before the next round after the last. */
  async #endBatch(): Promise<number> {
    const { store, clock, routing } = this.#ports;
    const due = await store.duePolls(clock.now(), STEP_POLLS, this.#after);
    const own = due.filter(({ ownerId }) => routing.owns(ownerId));
    const ended = await Promise.all(own.map((poll) => this.#end(poll)));
    const leastMs = !ended.every(Boolean) ? RETRY_MS : own.length < due.length ? FOREIGN_RETRY_MS : STEP_MS;
    this.#leastMs = Math.max(this.#leastMs, leastMs);
    // Polls that failed or have another owner stay in the store: the next batch is after them.
    this.#after = due.length < STEP_POLLS ? null : (due.at(-1) ?? null);
    if (this.#after) return STEP_MS;
    const restMs = this.#leastMs;
    this.#leastMs = STEP_MS;
    const nextMs = await store.nextPollMs();
    const waitMs = nextMs === null ? LOOK_MS : Math.min(LOOK_MS, nextMs - clock.now());
    return Math.max(waitMs, restMs);
  }

  /** Whether the poll needs no further try. A refusal is final: its channel or guild is gone. */
  async #end(poll: DuePoll): Promise<boolean> {
    const { store, guilds, inPrivate, scope, onFault } = this.#ports;
    const { guildId, channelId, messageId } = poll;
    const input = { channelId, messageId };
    try {
      const reply = await (guildId === null
        ? inPrivate(channelId, 'expirePoll', input, SYSTEM)
        : guilds.call(guildId, 'expirePoll', input, SYSTEM));
      const isOver = !reply.ok || reply.value.isOver;
      if (isOver) await store.forgetPoll(poll);
      return isOver;
    } catch (error) {
      if (!scope.over) onFault(error);
      return false;
    }
  }
}
