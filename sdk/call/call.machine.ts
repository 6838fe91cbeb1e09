import { assign, setup } from 'xstate';
import { CallError, CallStatus } from './enums.ts';

/** The effects of a call's connection. */
export interface CallEffects {
  /** Ask the gateway to let us in; from the first attempt to come back on, after a while. */
  ask(rejoins: number): void;
  /** A place has come, or none is wanted: the gateway is not asked again. */
  askNoMore(): void;
  /** Connect to the voice server with the ticket that came. */
  dial(): void;
  /** Let go of the voice server. */
  hangUp(): void;
  /** Tell the gateway that we leave. */
  leave(): void;
  /** Another state was entered: `late` is due in its time, and in no other's. */
  wait(state: CallState): void;
}

export type CallEvent =
  /** The application starts the call. */
  | { readonly type: 'join' }
  /** The gateway says where the call is. */
  | { readonly type: 'ticket' }
  /** READY of the voice server: it has taken us in, and knows of no way for sound yet. */
  | { readonly type: 'signaled' }
  /** The connection to the voice server broke, and is being made again. */
  | { readonly type: 'lost' }
  /** It stands again, with or without the way for sound. */
  | { readonly type: 'resumed'; readonly hasSound: boolean }
  | { readonly type: 'soundUp' | 'soundDown' }
  /** The place in the call is gone, and another may be had. */
  | { readonly type: 'again' }
  /** There is no place for us. */
  | { readonly type: 'refused'; readonly error: CallError }
  /** The time of a state is over. */
  | { readonly type: 'late' }
  /** The connection has held for so long that what went wrong before no longer counts. */
  | { readonly type: 'settled' }
  /** The application ends the call. */
  | { readonly type: 'leave' }
  /** The gateway has seen us go. */
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

/** What an application sees of each state. */
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

/** Times that a place is asked for again before the call is given up, unless it held in between. */
export const REJOINS_MAX = 5;

interface Context {
  readonly effects: CallEffects;
  readonly rejoins: number;
  /** The gateway has let us in once. */
  readonly hasJoined: boolean;
  readonly error: CallError;
}

/** Without a place, and without hope for one. */
const GIVE_UP = { target: 'disconnected', actions: ['blame', 'hangUp', 'tellLeave'] } as const;
/** Asks for another place, so often and no more. */
const REJOIN = [{ guard: 'mayRejoin', target: 'rejoining', reenter: true }, GIVE_UP] as const;

/** Where the connection of one call is. Sound, keys and voice states never come here. */
export const callMachine = setup({
  types: { input: {} as CallEffects, context: {} as Context, events: {} as CallEvent },
  guards: {
    mayRejoin: ({ context }) => context.rejoins < REJOINS_MAX,
    hasSound: ({ event }) => event.type === 'resumed' && event.hasSound,
  },
  actions: {
    ask: ({ context }) => context.effects.ask(context.rejoins),
    askNoMore: ({ context }) => context.effects.askNoMore(),
    dial: ({ context }) => context.effects.dial(),
    hangUp: ({ context }) => context.effects.hangUp(),
    tellLeave: ({ context }) => context.effects.leave(),
    wait: ({ context }, { state }: { state: CallState }) => context.effects.wait(state),
    count: assign({ rejoins: ({ context }) => context.rejoins + 1 }),
    forgive: assign({ rejoins: 0 }),
    blame: assign({
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
        again: { target: 'joining', reenter: true },
        late: GIVE_UP,
        refused: GIVE_UP,
        leave: 'disconnecting',
      },
    },
    connecting: {
      entry: ['enter', 'dial', { type: 'wait', params: { state: 'connecting' } }],
      on: {
        ticket: { target: 'connecting', reenter: true },
        signaled: 'signalingConnected',
        again: REJOIN,
        late: REJOIN,
        refused: GIVE_UP,
        leave: 'disconnecting',
      },
    },
    signalingConnected: {
      entry: { type: 'wait', params: { state: 'signalingConnected' } },
      on: {
        ticket: 'connecting',
        lost: 'reconnecting',
        soundUp: 'connected',
        again: REJOIN,
        late: REJOIN,
        refused: GIVE_UP,
        leave: 'disconnecting',
      },
    },
    connected: {
      entry: { type: 'wait', params: { state: 'connected' } },
      on: {
        ticket: 'connecting',
        lost: 'reconnecting',
        soundDown: 'signalingConnected',
        again: REJOIN,
        refused: GIVE_UP,
        settled: { actions: 'forgive' },
        leave: 'disconnecting',
      },
    },
    reconnecting: {
      entry: { type: 'wait', params: { state: 'reconnecting' } },
      on: {
        ticket: 'connecting',
        signaled: 'signalingConnected',
        resumed: [{ guard: 'hasSound', target: 'connected' }, { target: 'signalingConnected' }],
        again: REJOIN,
        late: REJOIN,
        refused: GIVE_UP,
        leave: 'disconnecting',
      },
    },
    rejoining: {
      entry: ['hangUp', 'count', 'ask', { type: 'wait', params: { state: 'rejoining' } }],
      exit: 'askNoMore',
      on: {
        ticket: 'connecting',
        again: REJOIN,
        late: REJOIN,
        refused: GIVE_UP,
        leave: 'disconnecting',
      },
    },
    disconnecting: {
      entry: ['hangUp', 'tellLeave', { type: 'wait', params: { state: 'disconnecting' } }],
      on: { left: 'disconnected', late: 'disconnected' },
    },
  },
});
