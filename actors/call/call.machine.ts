import { setup } from 'xstate';

/** The effects of a call's lifecycle. */
export interface CallShellEffects {
  /** The first member connected: starts media and the DAVE delivery service. */
  open(): void;
  /** The last member left: ends media and discards the MLS group. */
  close(): void;
  /** The call ended: releases all resources. */
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
 * Lifecycle of one call, from its first connection to the departure of its last member. Packets, heartbeats, speaking
 * and the steps of the encryption handshake bypass this machine.
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
