import { setup } from 'xstate';

/** The effects of a client's connection. */
export interface StatusEffects {
  /** Learn where the gateway is; a failure is tried again by whoever does it. */
  ask(): void;
  /** Open the connection; an earlier one is closed first. */
  open(): void;
  /** End the session; tells `closed` when it has. */
  close(): void;
}

export interface StatusEvent {
  readonly type: /** The application wants to be connected. */
    | 'connect'
    /** The gateway's address is known. */
    | 'addressed'
    /** The server has greeted. */
    | 'opened'
    /** The session stands, or stands again. */
    | 'ready'
    /** The connection broke and is being made again. */
    | 'lost'
    /** The token changed: the session is begun anew with it. */
    | 'renew'
    /** There will be no connection: a terminal close code, or the address cannot be had. */
    | 'ended'
    /** The application wants to be disconnected. */
    | 'disconnect'
    /** The connection is closed. */
    | 'closed';
}

/** Where a client's connection is. Heartbeats, resumes and dispatches never come here. */
export const statusMachine = setup({
  types: {
    input: {} as StatusEffects,
    context: {} as { readonly effects: StatusEffects },
    events: {} as StatusEvent,
  },
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
