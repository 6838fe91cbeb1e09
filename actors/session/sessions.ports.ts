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
   * How old a dispatch may be to be replayed. A dead connection is noticed only when a heartbeat is overdue, so this
   * is the resume window and as much again as a heartbeat may be late.
   */
  readonly replayAgeMs: number;
  readonly sessionsMax: number;
  readonly maxConcurrency: number;
  readonly sessionStartsPerDay: number;
  /** False lets sessions start without limits. */
  readonly limited: boolean;
  /** Guilds of one shard beyond which a bot must shard. */
  readonly shardingRequiredGuilds: number;
  /** Sessions that are sent their guilds at the same time; the others wait their turn. */
  readonly hydrationsMax: number;
  /** Member requests of one session that may wait; beyond it they are dropped. */
  readonly memberRequestsMax: number;
}

export interface SessionDeps {
  readonly settings: SessionSettings;
  readonly backend: SessionBackend;
  /** Made when none is given. */
  readonly supervisor?: Supervisor;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Unix milliseconds, by which tokens end. */
  readonly unixMs: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** `resume_gateway_url` of READY; asked for each time, as the port may be unknown until the server listens. */
  readonly gatewayUrl: () => string;
  /** Hears of every failure of the backend and every bug of a session. */
  readonly onFault: (error: unknown, sessionId: string) => void;
  /** Notes what another home needs to go on with a session; none while there can be no other. */
  readonly journal?: SessionJournal | null;
  /** Where sessions are that are not here. */
  readonly archive?: SessionArchive | null;
  /** Bounds the rate at which sessions begin; nothing does when there is none. */
  readonly admission?: Admission | null;
  /** Bounds how many come over from other homes at a time. */
  readonly migrationLimiter?: MigrationLimiter | null;
  /** The worker number of this shard, which the ids of its sessions name; null when ids name nothing. */
  readonly worker?: () => number | null;
  /** How the owners of users count the starts of their sessions; one process when absent. */
  readonly routing?: Pick<Routing, 'ask'>;
}
