import { setup } from 'xstate';

/** The effects of a call's lifecycle. */
export interface CallShellEffects {
  /** The first member connects: media and the delivery service of DAVE begin. */
  open(): void;
  /** The last member has left: media ends, and the group is forgotten. */
  close(): void;
  /** The call is over: let go of everything. */
  release(): void;
}

export interface CallEvent {
  readonly type: /** A member has identified on the voice gateway. */
    | 'connect'
    /** No member is connected; some may reconnect. */
    | 'empty'
    /** The last member left, or the channel was deleted. */
    | 'end';
}

/**
 * Lifecycle of one call, from the first member who connects to the last who leaves. Packets, heartbeats, speaking, and
 * the steps of the encryption between members never come here.
 */
export const callMachine = setup({
  types: {} as { input: CallShellEffects; context: { readonly shell: CallShellEffects }; events: CallEvent },
  actions: {
    open: ({ context }) => context.shell.open(),
    close: ({ context }) => context.shell.close(),
    release: ({ context }) => context.shell.release(),
  },
}).createMachine({
  id: 'call',
  context: ({ input }) => ({ shell: input }),
  initial: 'forming',
  states: {
    forming: { on: { connect: 'active', end: 'ended' } },
    active: { entry: 'open', exit: 'close', on: { empty: 'forming', end: 'ended' } },
    ended: { type: 'final', entry: 'release' },
  },
});
