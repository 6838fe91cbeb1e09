import { setup } from 'xstate';

/** The effects of a shard's lifecycle. */
export interface ShardEffects {
  /** Enters the directory, again and again until it is a member, and claims what is to be its own. */
  enter(): void;
  /** Nothing that was owned is: it is let go without a word. */
  abandon(): void;
  /** Whoever waits for this shard asks again. */
  wake(): void;
  /** Gives everything away. */
  retire(): void;
  /** It is over: the membership ends. */
  release(): void;
}

export interface ShardEvent {
  readonly type: /** What it could have at once is served. */
    | 'served'
    /** The lease may be over for others at any moment. */
    | 'unsafe'
    /** It was renewed before anybody took it for over. */
    | 'safe'
    /** The membership has ended. */
    | 'lost'
    | 'drain'
    | 'close';
}

/** Lifecycle of this process as a shard. Which partitions it owns is no state of it: they come and go in most of them. */
export const shardMachine = setup({
  types: {
    input: {} as ShardEffects,
    context: {} as { readonly shell: ShardEffects },
    events: {} as ShardEvent,
  },
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
    // A member to the end, so that the others still find the sessions that live here.
    draining: { entry: 'retire', on: { lost: { actions: 'abandon' }, close: 'left' } },
    left: { type: 'final', entry: 'release' },
  },
});
