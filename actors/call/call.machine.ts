import { setup } from 'xstate';

/** The effects of a call's lifecycle. */
export interface CallShellEffects {
  /** The first member connects: media and the delivery service of DAVE begin. */
  open(): void;
  /** The last member has left: media ends, and the group is forgotten. */
  close(): void;
  /** Everyone is in one epoch: what is not encrypted is not forwarded. */
  encryptOnly(): void;
  /** Some members may speak without encryption for now, unless it is required. */
  allowPlain(): void;
  /** The call is over: let go of everything. */
  release(): void;
}

export interface CallEvent {
  readonly type: /** A member has identified on the voice gateway. */
    | 'connect'
    /** Nobody is connected any more, though some may come back. */
    | 'empty'
    /** Nobody has a seat any more, or the channel is gone. */
    | 'end'
    /** Members are without encryption: a version of 0 is in force. */
    | 'daveOff'
    /** A group is being made, or made anew. */
    | 'daveNegotiates'
    /** A change of epoch or version was announced. */
    | 'davePrepares'
    /** Everyone is in one epoch. */
    | 'daveSecures';
}

/**
 * Lifecycle of one call. Packets, heartbeats, speaking and the frames between members never come here: it hears of the
 * first who comes and the last who goes, and of the steps of the encryption between them.
 */
export const callMachine = setup({
  types: {
    input: {} as CallShellEffects,
    context: {} as { readonly shell: CallShellEffects },
    events: {} as CallEvent,
  },
  actions: {
    open: ({ context }) => context.shell.open(),
    close: ({ context }) => context.shell.close(),
    encryptOnly: ({ context }) => context.shell.encryptOnly(),
    allowPlain: ({ context }) => context.shell.allowPlain(),
    release: ({ context }) => context.shell.release(),
  },
}).createMachine({
  id: 'call',
  context: ({ input }) => ({ shell: input }),
  initial: 'forming',
  states: {
    forming: { on: { connect: 'active', end: 'ended' } },
    active: {
      entry: 'open',
      exit: 'close',
      on: { empty: 'forming', end: 'ended' },
      initial: 'plain',
      states: {
        plain: {
          on: { daveNegotiates: 'negotiating', davePrepares: 'transitioning', daveSecures: 'secure' },
        },
        negotiating: {
          on: { daveOff: 'plain', davePrepares: 'transitioning', daveSecures: 'secure' },
        },
        transitioning: {
          on: { daveOff: 'plain', daveNegotiates: 'negotiating', daveSecures: 'secure' },
        },
        secure: {
          entry: 'encryptOnly',
          exit: 'allowPlain',
          on: { daveOff: 'plain', daveNegotiates: 'negotiating', davePrepares: 'transitioning' },
        },
      },
    },
    ended: { type: 'final', entry: 'release' },
  },
});
