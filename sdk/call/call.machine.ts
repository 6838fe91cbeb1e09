import { assign, setup } from 'xstate';
import { CallError, CallStatus } from './enums.ts';

/** The effects of a call's connection. */
export interface CallEffects {
  /** Ask the gateway to join; from the first rejoin on, after a backoff. */
  ask(rejoins: number): void;
  /** Cancel pending join requests: a ticket arrived, or the call ends. */
  cancelAsk(): void;
  /** Connect to the voice server with the current ticket. */
  dial(): void;
  /** Close the connection to the voice server. */
  hangUp(): void;
  /** Tell the gateway that the client leaves. */
  leave(): void;
  /** A state was entered: start the timer of this state, which sends `timedOut`. */
  wait(state: CallState): void;
}

export type CallEvent =
  /** The application starts the call. */
  | { readonly type: 'join' }
  /** The gateway sent the voice server's endpoint and token. */
  | { readonly type: 'ticket' }
  /** READY of the voice server; no media transport yet. */
  | { readonly type: 'signaled' }
  /** The connection to the voice server broke and is being retried. */
  | { readonly type: 'lost' }
  /** The connection was resumed, with or without media transport. */
  | { readonly type: 'resumed'; readonly hasSound: boolean }
  | { readonly type: 'soundUp' | 'soundDown' }
  /** The voice session ended; a new ticket may work. */
  | { readonly type: 'ticketExpired' }
  /** The voice session was refused for good. */
  | { readonly type: 'refused'; readonly error: CallError }
  /** The time limit of the current state passed. */
  | { readonly type: 'timedOut' }
  /** The connection was stable long enough to reset the number of retries. */
  | { readonly type: 'settled' }
  /** The application ends the call. */
  | { readonly type: 'leave' }
  /** The gateway confirmed that the client left. */
  | { readonly type: 'left' };

export type CallState =
  | 'disconnected'
  | 'joining'
  | 'connecting'
  | 'signalingConnected'
  | 'connected'
  | 'reconnecting'
  | 'rejoining'
  | 'disconnecting';

/** The public status of each state. */
export const STATUS_OF: Readonly<Record<CallState, CallStatus>> = {
  disconnected: CallStatus.Disconnected,
  joining: CallStatus.Joining,
  connecting: CallStatus.Connecting,
  signalingConnected: CallStatus.SignalingConnected,
  connected: CallStatus.Connected,
  reconnecting: CallStatus.Reconnecting,
  rejoining: CallStatus.Reconnecting,
  disconnecting: CallStatus.Disconnecting,
};

/** Rejoin attempts before the call is given up; reset after a stable connection. */
export const REJOINS_MAX = 5;

interface Context {
  readonly effects: CallEffects;
  readonly rejoins: number;
  /** The gateway sent at least one ticket. */
  readonly hasJoined: boolean;
  readonly error: CallError;
}

/** Ends the call with an error. */
const FAIL = { target: 'disconnected', actions: ['setError', 'hangUp', 'sendLeave'] } as const;
/** Requests a new ticket, at most `REJOINS_MAX` times in a row. */
const REJOIN = [{ guard: 'mayRejoin', target: 'rejoining', reenter: true }, FAIL] as const;

/** Connection state of one call. Audio, keys and voice states are handled elsewhere. */
export const callMachine = setup({
  types: {} as { input: CallEffects; context: Context; events: CallEvent },
  guards: {
    mayRejoin: ({ context }) => context.rejoins < REJOINS_MAX,
    hasSound: ({ event }) => event.type === 'resumed' && event.hasSound,
  },
  actions: {
    ask: ({ context }) => context.effects.ask(context.rejoins),
    cancelAsk: ({ context }) => context.effects.cancelAsk(),
    dial: ({ context }) => context.effects.dial(),
    hangUp: ({ context }) => context.effects.hangUp(),
    sendLeave: ({ context }) => context.effects.leave(),
    wait: ({ context }, { state }: { state: CallState }) => context.effects.wait(state),
    countRejoin: assign({ rejoins: ({ context }) => context.rejoins + 1 }),
    resetRejoins: assign({ rejoins: 0 }),
    setError: assign({
      error: ({ event, context }) => {
        if (event.type === 'refused') return event.error;
        return context.hasJoined ? CallError.VoiceConnectionFailed : CallError.JoinTimeout;
      },
    }),
    enter: assign({ hasJoined: true }),
  },
}).createMachine({
  id: 'sdkCall',
  context: ({ input }) => ({ effects: input, rejoins: 0, hasJoined: false, error: CallError.None }),
  initial: 'disconnected',
  states: {
    disconnected: { on: { join: 'joining' } },
    joining: {
      entry: ['ask', { type: 'wait', params: { state: 'joining' } }],
      on: {
        ticket: 'connecting',
        ticketExpired: { target: 'joining', reenter: true },
        timedOut: FAIL,
        refused: FAIL,
        leave: 'disconnecting',
      },
    },
    connecting: {
      entry: ['enter', 'dial', { type: 'wait', params: { state: 'connecting' } }],
      on: {
        ticket: { target: 'connecting', reenter: true },
        signaled: 'signalingConnected',
        ticketExpired: REJOIN,
        timedOut: REJOIN,
        refused: FAIL,
        leave: 'disconnecting',
      },
    },
    signalingConnected: {
      entry: { type: 'wait', params: { state: 'signalingConnected' } },
      on: {
        ticket: 'connecting',
        lost: 'reconnecting',
        soundUp: 'connected',
        ticketExpired: REJOIN,
        timedOut: REJOIN,
        refused: FAIL,
        leave: 'disconnecting',
      },
    },
    connected: {
      entry: { type: 'wait', params: { state: 'connected' } },
      on: {
        ticket: 'connecting',
        lost: 'reconnecting',
        soundDown: 'signalingConnected',
        ticketExpired: REJOIN,
        refused: FAIL,
        settled: { actions: 'resetRejoins' },
        leave: 'disconnecting',
      },
    },
    reconnecting: {
      entry: { type: 'wait', params: { state: 'reconnecting' } },
      on: {
        ticket: 'connecting',
        signaled: 'signalingConnected',
        resumed: [{ guard: 'hasSound', target: 'connected' }, { target: 'signalingConnected' }],
        ticketExpired: REJOIN,
        timedOut: REJOIN,
        refused: FAIL,
        leave: 'disconnecting',
      },
    },
    rejoining: {
      entry: ['hangUp', 'countRejoin', 'ask', { type: 'wait', params: { state: 'rejoining' } }],
      exit: 'cancelAsk',
      on: {
        ticket: 'connecting',
        ticketExpired: REJOIN,
        timedOut: REJOIN,
        refused: FAIL,
        leave: 'disconnecting',
      },
    },
    disconnecting: {
      entry: ['hangUp', 'sendLeave', { type: 'wait', params: { state: 'disconnecting' } }],
      on: { left: 'disconnected', timedOut: 'disconnected' },
    },
  },
});
