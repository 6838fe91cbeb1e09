import type { Routing } from '../placement/routing.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { Admission } from './admission.ts';
import type { SessionBackend } from './backend.ts';
import type { SessionArchive, SessionJournal } from './journal.ports.ts';
import type { MigrationLimiter } from './migrationlimiter.ts';

export interface SessionSettings {
  /** How long a session without a connection is kept. */
  readonly resumeWindowMs: number;
  readonly replayFramesMax: number;
  /**
   * Maximum age of a replayed dispatch. A dead connection is noticed only when a heartbeat is overdue, so this is the
   * resume window plus the longest delay of a heartbeat.
   */
  readonly replayAgeMs: number;
  readonly sessionsMax: number;
  readonly maxConcurrency: number;
  readonly sessionStartsPerDay: number;
  /** False lets sessions start without limits. */
  readonly limited: boolean;
  /** Guilds of one shard beyond which a bot must shard. */
  readonly shardingRequiredGuilds: number;
  /** Upper bound on sessions that receive their first guilds at the same time; the others wait. */
  readonly hydrationsMax: number;
  /** Upper bound on the waiting member requests of one session; further ones are dropped. */
  readonly memberRequestsMax: number;
  /** Whether requests for all members of a guild are limited at a time, by the dated rules. */
  readonly limitsMemberLists: (nowMs: number) => boolean;
}

export interface SessionDeps {
  readonly settings: SessionSettings;
  readonly backend: SessionBackend;
  /** Created when absent. */
  readonly supervisor?: Supervisor;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Unix milliseconds, for the expiry of tokens. */
  readonly unixMs: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** `resume_gateway_url` of READY; read each time, because the port may be unknown until the server listens. */
  readonly gatewayUrl: () => string;
  /** Receives every failure of the backend and every bug of a session. */
  readonly onFault: (error: unknown, sessionId: string) => void;
  /** Records what another shard needs to continue a session; absent when no other shard or run can. */
  readonly journal?: SessionJournal | null;
  /** Finds sessions that are not on this shard. */
  readonly archive?: SessionArchive | null;
  /** Limits the rate of session starts; absent: unlimited. */
  readonly admission?: Admission | null;
  /** Limits concurrent migrations from other shards. */
  readonly migrationLimiter?: MigrationLimiter | null;
  /** The worker number of this shard, which is encoded in its session ids; null when ids encode none. */
  readonly worker?: () => number | null;
  /** Routes the counting of session starts to the owners of users; absent: a single process. */
  readonly routing?: Pick<Routing, 'ask'>;
}
