import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import { applicationSessions } from '../../engine/fanout/direct.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { formMatches, soundMatches } from '../../engine/matchmaking/matches.ts';
import { byAge, type Ticket, ticketRefusal } from '../../engine/matchmaking/tickets.ts';
import type { ApplicationId, ChannelId, FreshId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { Lobbies } from '../lobbies/ports.ts';
import type {
  Matchmaking,
  QueueDefinition,
  QueueView,
  TicketDraft,
  TicketObject,
  TicketStatus,
} from './ports.ts';
import { type Queue, queueOf } from './queue.ts';

interface MatchmakerPorts {
  readonly lobbies: Pick<Lobbies, 'call' | 'extensions'>;
  readonly notifier: Pick<Notifier, 'notify'>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** Ends the matches to come. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nextId: () => FreshId;
  readonly onFault: (error: unknown) => void;
}

/** All bounds here are ours. */
const TICKETS_PER_POOL_MAX = 10_000;
const ENDED_MAX = 20_000;
const ENDED_MS = 60_000;
/** Most lobbies being created for one queue. */
const MAKING_MAX = 64;
/** Failed creations after which a ticket fails. */
const FAULTS_MAX = 3;
/** Delay after which new tickets are matched together. */
const BATCH_MS = 100;

interface TicketEntry {
  readonly ticket: Ticket;
  readonly pool: Pool;
  readonly expiresMs: number;
  status: TicketStatus;
  /** A lobby is being created for it. */
  making: boolean;
  faults: number;
  lobbyId: ChannelId | null;
}

/** The waiting tickets of one application in one queue. */
interface Pool {
  readonly applicationId: ApplicationId;
  readonly queue: Queue;
  readonly waiting: Map<string, TicketEntry>;
  making: number;
  timer: { readonly atMs: number; readonly timer: Timer } | null;
}

/** The lobby of a match, with the players who could not join it. */
type MatchLobby = Awaited<ReturnType<Lobbies['extensions']['createWith']>>;

const keyOf = (applicationId: string, of: string): string => `${applicationId}:${of}`;

/** Matches tickets of each queue at its interval and creates a lobby for each match. */
export class Matchmaker implements Matchmaking {
  readonly #ports: MatchmakerPorts;
  readonly #queues = new Map<string, Queue>();
  readonly #pools = new Map<string, Pool>();
  readonly #entries = new Map<string, TicketEntry>();
  /** Players with an open ticket. */
  readonly #players = new Map<string, TicketEntry>();
  /** End times of tickets, oldest first. */
  readonly #ended = new Map<string, number>();

  constructor(ports: MatchmakerPorts) {
    this.#ports = ports;
    ports.scope.own(() => {
      for (const pool of this.#pools.values()) pool.timer?.timer.cancel();
    });
    ports.routing.onMoved((moved) => this.#moved(moved));
  }

  /** Tickets are in memory only, so those of applications that moved to another shard fail. */
  #moved(moved: (id: string) => boolean): void {
    for (const { applicationId, waiting } of [...this.#pools.values()])
      if (moved(applicationId) && !this.#ports.routing.owns(applicationId))
        for (const entry of [...waiting.values()]) this.#end(entry, 'failed');
  }

  define(name: string, definition: QueueDefinition): void {
    if (this.#queues.has(name)) throw new RangeError(`The queue "${name}" is defined already.`);
    this.#queues.set(name, queueOf(name, definition));
  }

  async enter(draft: TicketDraft, authority: Authority): Promise<Reply<TicketObject>> {
    const { applicationId } = authority.by;
    if (!applicationId) return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    const queue = this.#queues.get(draft.queue);
    if (!queue) return refused(refusal('UNKNOWN_QUEUE'));
    const players = await this.#playersOf(draft, authority);
    if (!players.ok) return players;
    const no = ticketRefusal(queue.rules, players.value.length, draft.properties);
    if (no) return refused(no);
    if (players.value.some((userId) => this.#players.has(keyOf(applicationId, userId))))
      return refused(refusal('PLAYER_IN_QUEUE'));
    const pool = this.#poolOf(applicationId, queue);
    if (pool.waiting.size >= TICKETS_PER_POOL_MAX) return refused(refusal('QUEUE_FULL'));
    const nowMs = this.#ports.clock.now();
    const { properties } = draft;
    const ticket = { id: this.#ports.nextId(), players: players.value, properties, createdMs: nowMs };
    const blank = { status: 'waiting', making: false, faults: 0, lobbyId: null } as const;
    const entry: TicketEntry = { ...blank, ticket, pool, expiresMs: nowMs + queue.timeoutMs };
    this.#entries.set(ticket.id, entry);
    for (const userId of ticket.players) this.#players.set(keyOf(applicationId, userId), entry);
    pool.waiting.set(ticket.id, entry);
    this.#wake(pool, BATCH_MS);
    return { ok: true, value: objectOf(entry) };
  }

  async get(id: string, authority: Authority): Promise<Reply<TicketObject>> {
    const entry = this.#entryFor(id, authority);
    return entry ? { ok: true, value: objectOf(entry) } : refused(refusal('UNKNOWN_TICKET'));
  }

  async cancel(id: string, authority: Authority): Promise<Reply<TicketObject>> {
    const entry = this.#entryFor(id, authority);
    if (!entry) return refused(refusal('UNKNOWN_TICKET'));
    if (entry.making) return refused(refusal('TICKET_BEING_MATCHED'));
    if (entry.status === 'waiting') this.#end(entry, 'cancelled');
    return { ok: true, value: objectOf(entry) };
  }

  queues(limit: number): readonly QueueView[] {
    return [...this.#pools.values()].slice(0, limit).map(({ applicationId, queue, waiting, making }) => {
      const tickets = [...waiting.values()].map(({ ticket }) => ticket);
      return {
        ...{ applicationId, queue: queue.name, making, waiting: tickets.length },
        players: tickets.reduce((sum, { players }) => sum + players.length, 0),
        // Tickets are kept in the order of their creation.
        oldestMs: tickets[0]?.createdMs ?? null,
      };
    });
  }

  /**
   * The players of a ticket: the caller, the members of the caller's lobby if its host asks, or users named by the
   * application's server.
   */
  async #playersOf(
    { lobbyId, userIds }: TicketDraft,
    authority: Authority,
  ): Promise<Reply<readonly UserId[]>> {
    const { by } = authority;
    if (lobbyId) {
      const lobby = await this.#ports.lobbies.call(lobbyId, 'getBeyond', {}, authority);
      if (!lobby.ok) return lobby;
      const { members, host_id: hostId } = lobby.value;
      const players = members.map(({ id }) => id);
      const may = by.bot || (hostId === null ? players.includes(by.userId) : hostId === by.userId);
      return may && players.length > 0
        ? { ok: true, value: players }
        : refused(refusal('MISSING_PERMISSIONS'));
    }
    if (!by.bot) return userIds ? refused(refusal('MISSING_PERMISSIONS')) : { ok: true, value: [by.userId] };
    return userIds && userIds.length > 0
      ? { ok: true, value: [...new Set(userIds)] }
      : refused(refusal('INVALID_FORM_BODY'));
  }

  #entryFor(id: string, { by }: Authority): TicketEntry | null {
    this.#forget();
    const entry = this.#entries.get(id);
    if (!entry || entry.pool.applicationId !== by.applicationId) return null;
    return by.bot || entry.ticket.players.includes(by.userId) ? entry : null;
  }

  #poolOf(applicationId: ApplicationId, queue: Queue): Pool {
    const key = keyOf(applicationId, queue.name);
    const pool = this.#pools.get(key) ?? { applicationId, queue, waiting: new Map(), making: 0, timer: null };
    this.#pools.set(key, pool);
    return pool;
  }

  /** Schedules a pass after `delayMs` unless one is due earlier. */
  #wake(pool: Pool, delayMs: number): void {
    const { clock, wheel } = this.#ports;
    const atMs = clock.monotonic() + delayMs;
    if (this.#ports.scope.over || (pool.timer && pool.timer.atMs <= atMs)) return;
    pool.timer?.timer.cancel();
    const run = (): void => {
      pool.timer = null;
      this.#pass(pool);
    };
    pool.timer = { atMs, timer: wheel.add(run, delayMs) };
  }

  #pass(pool: Pool): void {
    const nowMs = this.#ports.clock.now();
    for (const entry of pool.waiting.values()) if (nowMs >= entry.expiresMs) this.#end(entry, 'timed_out');
    for (const match of this.#matches(pool, nowMs).slice(0, MAKING_MAX - pool.making))
      this.#make(pool, match);
    this.#next(pool, pool.queue.everyMs);
    this.#forget();
  }

  /** An empty pool is not scheduled, and is removed when no lobby is being created for it. */
  #next(pool: Pool, delayMs: number): void {
    if (pool.waiting.size > 0) this.#wake(pool, delayMs);
    else if (pool.making === 0) this.#pools.delete(keyOf(pool.applicationId, pool.queue.name));
  }

  #matches({ queue, waiting }: Pool, nowMs: number): Ticket[][] {
    const tickets = [...waiting.values()].map(({ ticket }) => ticket).sort(byAge);
    if (!queue.match) return formMatches(tickets, queue.rules, nowMs);
    try {
      return soundMatches(tickets, queue.match(tickets, nowMs), LIMITS.lobby_members_max);
    } catch (error) {
      this.#ports.onFault(error);
      return [];
    }
  }

  #make(pool: Pool, match: readonly Ticket[]): void {
    const entries = match.map(({ id }) => pool.waiting.get(id) as TicketEntry);
    for (const entry of entries) {
      entry.making = true;
      pool.waiting.delete(entry.ticket.id);
    }
    pool.making += 1;
    this.#lobbyFor(pool, entries)
      .then(
        (made) => this.#made(entries, made),
        (error: unknown) => {
          this.#ports.onFault(error);
          this.#made(entries, null);
        },
      )
      .finally(() => {
        pool.making -= 1;
        this.#next(pool, BATCH_MS);
      });
  }

  /** The players are sent their tickets as matched in the commit that makes them members: they all know of the match, or none does. */
  async #lobbyFor({ applicationId, queue }: Pool, entries: readonly TicketEntry[]): Promise<MatchLobby> {
    const match = entries.map(({ ticket }) => ticket);
    const { metadata = null, game = null, hostGraceSeconds = null } = queue.lobby?.(match) ?? {};
    const settings = { game, host_grace_seconds: hostGraceSeconds };
    const players = match.flatMap((ticket) => ticket.players);
    const matched = (lobbyId: ChannelId) =>
      entries.map((entry) => objectOf({ ...entry, status: 'matched', lobbyId }));
    return this.#ports.lobbies.extensions.createWith(applicationId, { metadata, settings, players, matched });
  }

  /**
   * `made` is null after a fault. Tickets that caused the failure fail; the others return to the queue, unless another shard owns the
   * application now.
   */
  #made(entries: readonly TicketEntry[], made: MatchLobby | null): void {
    const missing = new Set(made?.ok ? made.value.missing : []);
    for (const entry of entries) {
      entry.making = false;
      if (made?.ok && missing.size === 0) {
        entry.lobbyId = made.value.lobbyId;
        this.#end(entry, 'matched');
        continue;
      }
      if (!made?.ok) entry.faults += 1;
      const isLost = entry.faults >= FAULTS_MAX || !this.#ports.routing.owns(entry.pool.applicationId);
      if (isLost || entry.ticket.players.some((userId) => missing.has(userId))) this.#end(entry, 'failed');
      else entry.pool.waiting.set(entry.ticket.id, entry);
    }
  }

  #end(entry: TicketEntry, status: TicketStatus): void {
    const { ticket, pool } = entry;
    const { notifier, clock } = this.#ports;
    entry.status = status;
    pool.waiting.delete(ticket.id);
    this.#ended.set(ticket.id, clock.monotonic());
    for (const userId of ticket.players) {
      this.#players.delete(keyOf(pool.applicationId, userId));
      // The lobby has sent it.
      if (status === 'matched') continue;
      const filter = applicationSessions(pool.applicationId);
      notifier.notify(userId, 'GUILDHALL_MATCHMAKING_UPDATE', objectOf(entry), filter);
    }
    this.#forget();
  }

  /** Evicts tickets that ended a while ago. */
  #forget(): void {
    const beforeMs = this.#ports.clock.monotonic() - ENDED_MS;
    for (const [id, endedMs] of this.#ended) {
      if (endedMs > beforeMs && this.#ended.size <= ENDED_MAX) return;
      this.#ended.delete(id);
      this.#entries.delete(id);
    }
  }
}

const objectOf = ({ ticket, pool, status, expiresMs, lobbyId }: TicketEntry): TicketObject => ({
  id: ticket.id,
  queue: pool.queue.name,
  status,
  user_ids: ticket.players,
  properties: ticket.properties,
  created_at: isoTimestamp(ticket.createdMs),
  expires_at: isoTimestamp(expiresMs),
  lobby_id: lobbyId,
});
