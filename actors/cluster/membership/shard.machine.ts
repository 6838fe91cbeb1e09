import { assign, setup } from 'xstate';

/** The effects of a shard's lifecycle. */
export interface ShardEffects {
  /** Begins a membership: enters the directory, with retries, and claims the partitions of this shard. */
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

export type ShardEvent =
  | {
      readonly type: /** The shard is a member. */
        | 'entered'
        /** All partitions that could be had at once are served. */
        | 'served'
        /** The lease may expire for other shards at any moment. */
        | 'unsafe'
        /** The lease was renewed before another shard considered it expired. */
        | 'safe'
        /** The membership has ended. */
        | 'lost'
        | 'drain'
        /** Other shards serve what this shard owned, or no shard is left to wait for. */
        | 'drained'
        | 'close';
    }
  /** The directory will never accept this shard, because of its configuration. */
  | { readonly type: 'rejected'; readonly reason: Error };

interface Context {
  readonly shell: ShardEffects;
  readonly rejection: Error | null;
}

/** Lifecycle of this process as a shard. Partition ownership is not part of it: partitions move in most states. */
export const shardMachine = setup({
  types: {} as { input: ShardEffects; context: Context; events: ShardEvent },
  actions: {
    enter: ({ context }) => context.shell.enter(),
    abandon: ({ context }) => context.shell.abandon(),
    wake: ({ context }) => context.shell.wake(),
    retire: ({ context }) => context.shell.retire(),
    release: ({ context }) => context.shell.release(),
  },
}).createMachine({
  id: 'shard',
  context: ({ input }) => ({ shell: input, rejection: null }),
  initial: 'entering',
  states: {
    // Owns nothing yet, so there is nothing to drain.
    entering: {
      entry: 'enter',
      on: {
        entered: 'joining',
        lost: { target: 'entering', reenter: true, actions: 'abandon' },
        rejected: { target: 'left', actions: assign({ rejection: ({ event }) => event.reason }) },
        close: 'left',
      },
    },
    joining: {
      on: {
        served: 'serving',
        lost: { target: 'entering', actions: 'abandon' },
        drain: 'draining',
        close: 'left',
      },
    },
    serving: {
      entry: 'wake',
      on: {
        unsafe: 'suspended',
        lost: { target: 'entering', actions: 'abandon' },
        drain: 'draining',
        close: 'left',
      },
    },
    suspended: {
      entry: 'wake',
      on: {
        safe: 'serving',
        lost: { target: 'entering', actions: 'abandon' },
        drain: 'draining',
        close: 'left',
      },
    },
    draining: {
      entry: 'retire',
      on: { drained: 'drained', lost: { target: 'drained', actions: 'abandon' }, close: 'left' },
    },
    // Stays a member until `close`, so that owners can still reach the sessions of this shard.
    drained: { on: { lost: { actions: 'abandon' }, close: 'left' } },
    left: { type: 'final', entry: 'release' },
  },
});
