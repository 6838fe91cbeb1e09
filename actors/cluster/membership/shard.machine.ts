import { setup } from 'xstate';

/** The effects of a shard's lifecycle. */
export interface ShardEffects {
  /** Enters the directory, with retries until the shard is a member, and claims its partitions. */
  enter(): void;
  /** All ownership is lost: the actors end at once, without writing. */
  abandon(): void;
  /** Wakes the callers that wait for this shard, so that they retry. */
  wake(): void;
  /** Starts to hand over all partitions. */
  retire(): void;
  /** Ends the membership. */
  release(): void;
}

export interface ShardEvent {
  readonly type: /** All partitions that could be had at once are served. */
    | 'served'
    /** The lease may expire for other shards at any moment. */
    | 'unsafe'
    /** The lease was renewed before another shard considered it expired. */
    | 'safe'
    /** The membership has ended. */
    | 'lost'
    | 'drain'
    | 'close';
}

/** Lifecycle of this process as a shard. Partition ownership is not part of it: partitions move in most states. */
export const shardMachine = setup({
  types: {} as { input: ShardEffects; context: { readonly shell: ShardEffects }; events: ShardEvent },
  actions: {
    enter: ({ context }) => context.shell.enter(),
    abandon: ({ context }) => context.shell.abandon(),
    wake: ({ context }) => context.shell.wake(),
    retire: ({ context }) => context.shell.retire(),
    release: ({ context }) => context.shell.release(),
  },
}).createMachine({
  id: 'shard',
  context: ({ input }) => ({ shell: input }),
  initial: 'joining',
  states: {
    joining: {
      entry: 'enter',
      on: {
        served: 'serving',
        lost: { target: 'joining', reenter: true, actions: 'abandon' },
        drain: 'draining',
        close: 'left',
      },
    },
    serving: {
      entry: 'wake',
      on: {
        unsafe: 'suspended',
        lost: { target: 'joining', actions: 'abandon' },
        drain: 'draining',
        close: 'left',
      },
    },
    suspended: {
      entry: 'wake',
      on: {
        safe: 'serving',
        lost: { target: 'joining', actions: 'abandon' },
        drain: 'draining',
        close: 'left',
      },
    },
    // Stays a member until `close`, so that owners can still reach the sessions of this shard.
    draining: { entry: 'retire', on: { lost: { actions: 'abandon' }, close: 'left' } },
    left: { type: 'final', entry: 'release' },
  },
});
