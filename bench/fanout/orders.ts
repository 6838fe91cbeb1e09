/** Messages to a contender's process. */
export type HostOrder =
  | { readonly kind: 'open' }
  /** Starts the measurement. */
  | { readonly kind: 'begin' }
  /** Sends messages `first` to `first + count - 1` of the corpus within one tick. */
  | { readonly kind: 'broadcast'; readonly first: number; readonly count: number }
  /** Sends the first `total` messages of the corpus at a fixed rate from `startNs` on. */
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

/** Messages to the process with the connections. Each crowd has a number. */
export type CrowdOrder =
  | {
      readonly kind: 'gather';
      readonly crowd: number;
      readonly url: string;
      readonly manner: 'plain' | 'gateway' | 'socketio';
      readonly tokens: readonly string[];
      readonly intents: number;
    }
  /** Starts counting; reports each time `every` more messages have reached all connections. */
  | { readonly kind: 'arm'; readonly crowd: number; readonly every: number }
  /** Requests the time at which each message since then reached the last connection. */
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
