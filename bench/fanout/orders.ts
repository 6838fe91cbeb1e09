/** What a contender's process is told. */
export type HostOrder =
  | { readonly kind: 'open' }
  /** Begins to measure. */
  | { readonly kind: 'begin' }
  /** Sends messages `first` to `first + count - 1` of the corpus within one tick. */
  | { readonly kind: 'broadcast'; readonly first: number; readonly count: number }
  /** Sends the first `total` messages of the corpus at a pace from `startNs` on. */
  | { readonly kind: 'pace'; readonly perSecond: number; readonly total: number; readonly startNs: number }
  | { readonly kind: 'end' };

export type HostNews =
  | { readonly kind: 'opened'; readonly port: number }
  | { readonly kind: 'paced' }
  | {
      readonly kind: 'ended';
      readonly cpuMicros: number;
      readonly wallMicros: number;
      readonly rssBytes: number;
    };

/** What the process with the connections is told. Crowds have a number each. */
export type CrowdOrder =
  | {
      readonly kind: 'gather';
      readonly crowd: number;
      readonly url: string;
      readonly manner: 'plain' | 'gateway' | 'socketio';
      readonly tokens: readonly string[];
      readonly intents: number;
    }
  /** Counts from here; says so each time `every` more messages have reached all. */
  | { readonly kind: 'arm'; readonly crowd: number; readonly every: number }
  /** Asks when each message since then reached the last connection. */
  | { readonly kind: 'tell'; readonly crowd: number };

export type CrowdNews =
  | { readonly kind: 'gathered'; readonly crowd: number }
  | { readonly kind: 'reached'; readonly crowd: number; readonly messages: number }
  | {
      readonly kind: 'told';
      readonly crowd: number;
      readonly lastNs: readonly number[];
      readonly payloadBytes: number;
    }
  | { readonly kind: 'lost'; readonly crowd: number; readonly reason: string };
