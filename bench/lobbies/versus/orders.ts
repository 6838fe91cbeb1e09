import { DEFAULTS } from '../../../config/config.ts';

/** Members of every lobby. */
export const MEMBERS_EACH = 10;

/**
 * Kinds of updates to every member of every lobby: a message that is not kept, a tick's worth of such messages, a
 * lobby's metadata, or one member's metadata.
 */
export const UPDATES = ['broadcast', 'burst', 'metadata', 'member'] as const;
export type Update = (typeof UPDATES)[number];

/** Messages of a burst, all said within one tick. */
const BURST = 5;

/** Messages that an update brings to each member. */
export const messagesOf = (update: Update): number => (update === 'burst' ? BURST : 1);

/** Heartbeat interval of idle sessions. With it sessions evict their resume buffers within `SETTLE_MS`, as with any interval. */
export const BEAT_MS = 15_000;
/** Heartbeat interval and its grace, resume window, and the look at who has aged, one after the other. */
export const SETTLE_MS = 75_000;

/**
 * How connections live: `busy` ones send no heartbeats, which would be counted; `idle` ones let go soon of what they keep for a
 * resume; `usual` ones have the default intervals.
 */
export type Life = 'busy' | 'idle' | 'usual';

/** Between heartbeats of a connection; null for none. */
export const BEATS_MS: Readonly<Record<Life, number | null>> = {
  busy: null,
  idle: BEAT_MS,
  usual: DEFAULTS.heartbeat_interval_ms,
};

/** Orders to a contender's process. */
export type HostOrder =
  | { readonly kind: 'open'; readonly life: Life }
  /** Makes what so many more connections identify with. */
  | { readonly kind: 'prepare'; readonly count: number }
  /** Begins to measure. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'end' }
  /** Sends number `index` of an update in every lobby. */
  | { readonly kind: 'update'; readonly update: Update; readonly index: number }
  /** Collects garbage and says what memory is resident. */
  | { readonly kind: 'weigh' };

export type HostNews =
  | { readonly kind: 'opened'; readonly url: string }
  | { readonly kind: 'prepared'; readonly tokens: readonly string[] }
  | { readonly kind: 'ended'; readonly cpuMicros: number; readonly wallMicros: number }
  | { readonly kind: 'weighed'; readonly rssBytes: number; readonly heapBytes: number };

/** Players' connections of both servers. */
export type Rival = 'guildhall' | 'colyseus';

/** All that takes part: also bots' sessions of this server, in JSON and with zlib-stream. */
export type Manner = Rival | 'json' | 'zlib-stream';

/** Orders to the process with the connections. Each crowd has a number. */
export type CrowdOrder =
  /** Opens as many connections more as there are tokens, each joined to a lobby; the first have place for `membersEach`. */
  | {
      readonly kind: 'gather';
      readonly crowd: number;
      readonly url: string;
      readonly manner: Manner;
      readonly membersEach: number;
      /** Between heartbeats, where clients send them; null for none. */
      readonly beatMs: number | null;
      readonly tokens: readonly string[];
    }
  /** Counts from here; says so each time `every` more messages have reached all. */
  | { readonly kind: 'arm'; readonly crowd: number; readonly every: number }
  | { readonly kind: 'tell'; readonly crowd: number };

export type CrowdNews =
  | { readonly kind: 'gathered'; readonly crowd: number }
  | { readonly kind: 'reached'; readonly crowd: number }
  | { readonly kind: 'told'; readonly crowd: number; readonly payloadBytes: number }
  | { readonly kind: 'lost'; readonly crowd: number; readonly reason: string };
