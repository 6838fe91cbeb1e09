import { setup } from 'xstate';

/** The effects of a client's connection. */
export interface StatusEffects {
  /** Look up the gateway's URL; the effect retries failures itself. */
  ask(): void;
  /** Open the connection, after closing an earlier one. */
  open(): void;
  /** End the session; sends `closed` when done. */
  close(): void;
}

export interface StatusEvent {
  readonly type: /** The application connects. */
    | 'connect'
    /** The gateway's URL is known. */
    | 'addressed'
    /** The server sent HELLO. */
    | 'opened'
    /** The session is ready or resumed. */
    | 'ready'
    /** The connection broke and is being retried. */
    | 'lost'
    /** The token changed: connect again with it. */
    | 'renew'
    /** Terminal close code, or the gateway's URL is unavailable. */
    | 'ended'
    /** The application disconnects. */
    | 'disconnect'
    /** The connection is closed. */
    | 'closed';
}

/** Connection status of a client. Heartbeats, resumes and dispatches are handled elsewhere. */
export const statusMachine = setup({
  types: {} as { input: StatusEffects; context: { readonly effects: StatusEffects }; events: StatusEvent },
  actions: {
    ask: ({ context }) => context.effects.ask(),
    open: ({ context }) => context.effects.open(),
    close: ({ context }) => context.effects.close(),
  },
}).createMachine({
  id: 'status',
  context: ({ input }) => ({ effects: input }),
  initial: 'disconnected',
  states: {
    disconnected: { on: { connect: 'httpWait' } },
    httpWait: {
      entry: 'ask',
      on: { addressed: 'connecting', ended: 'disconnected', disconnect: 'disconnecting' },
    },
    connecting: {
      entry: 'open',
      on: {
        opened: 'connected',
        lost: 'reconnecting',
        renew: { target: 'connecting', reenter: true },
        ended: 'disconnected',
        disconnect: 'disconnecting',
      },
    },
    connected: {
      on: {
        ready: 'ready',
        lost: 'reconnecting',
        renew: 'connecting',
        ended: 'disconnected',
        disconnect: 'disconnecting',
      },
    },
    ready: {
      on: { lost: 'reconnecting', renew: 'connecting', ended: 'disconnected', disconnect: 'disconnecting' },
    },
    reconnecting: {
      on: {
        opened: 'connected',
        renew: 'connecting',
        ended: 'disconnected',
        disconnect: 'disconnecting',
      },
    },
    disconnecting: { entry: 'close', on: { closed: 'disconnected', ended: 'disconnected' } },
  },
});
