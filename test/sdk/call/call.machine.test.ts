// Goal: every state of a call's connection answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { createActor, initialTransition, transition } from 'xstate';
import {
  type CallEffects,
  type CallEvent,
  type CallState,
  callMachine,
  REJOINS_MAX,
  STATUS_OF,
} from '../../../sdk/call/call.machine.ts';
import { CallError, CallStatus } from '../../../sdk/call/enums.ts';

const effects: CallEffects = {
  ask: () => {},
  cancelAsk: () => {},
  dial: () => {},
  hangUp: () => {},
  leave: () => {},
  wait: () => {},
};

const EVENTS = {
  join: { type: 'join' },
  ticket: { type: 'ticket' },
  signaled: { type: 'signaled' },
  lost: { type: 'lost' },
  resumed: { type: 'resumed', hasSound: true },
  resumedMute: { type: 'resumed', hasSound: false },
  soundUp: { type: 'soundUp' },
  soundDown: { type: 'soundDown' },
  ticketExpired: { type: 'ticketExpired' },
  refused: { type: 'refused', error: CallError.Forbidden },
  timedOut: { type: 'timedOut' },
  settled: { type: 'settled' },
  leave: { type: 'leave' },
  left: { type: 'left' },
} as const satisfies Record<string, CallEvent>;

type Row = { readonly [E in keyof typeof EVENTS]: CallState };

const stays = (state: CallState): Row =>
  Object.fromEntries(Object.keys(EVENTS).map((name) => [name, state])) as unknown as Row;

/** From each state, by each event: the state after it. What is not named changes nothing. */
const TRANSITIONS: { readonly [S in CallState]: Row } = {
  disconnected: { ...stays('disconnected'), join: 'joining' },
  joining: {
    ...stays('joining'),
    ticket: 'connecting',
    refused: 'disconnected',
    timedOut: 'disconnected',
    leave: 'disconnecting',
  },
  connecting: {
    ...stays('connecting'),
    signaled: 'signalingConnected',
    ticketExpired: 'rejoining',
    timedOut: 'rejoining',
    refused: 'disconnected',
    leave: 'disconnecting',
  },
  signalingConnected: {
    ...stays('signalingConnected'),
    ticket: 'connecting',
    lost: 'reconnecting',
    soundUp: 'connected',
    ticketExpired: 'rejoining',
    timedOut: 'rejoining',
    refused: 'disconnected',
    leave: 'disconnecting',
  },
  connected: {
    ...stays('connected'),
    ticket: 'connecting',
    lost: 'reconnecting',
    soundDown: 'signalingConnected',
    ticketExpired: 'rejoining',
    refused: 'disconnected',
    leave: 'disconnecting',
  },
  reconnecting: {
    ...stays('reconnecting'),
    ticket: 'connecting',
    signaled: 'signalingConnected',
    resumed: 'connected',
    resumedMute: 'signalingConnected',
    ticketExpired: 'rejoining',
    timedOut: 'rejoining',
    refused: 'disconnected',
    leave: 'disconnecting',
  },
  rejoining: {
    ...stays('rejoining'),
    ticket: 'connecting',
    refused: 'disconnected',
    leave: 'disconnecting',
  },
  disconnecting: { ...stays('disconnecting'), timedOut: 'disconnected', left: 'disconnected' },
};

/** A way into each state. */
const WAYS: { readonly [S in CallState]: readonly (keyof typeof EVENTS)[] } = {
  disconnected: [],
  joining: ['join'],
  connecting: ['join', 'ticket'],
  signalingConnected: ['join', 'ticket', 'signaled'],
  connected: ['join', 'ticket', 'signaled', 'soundUp'],
  reconnecting: ['join', 'ticket', 'signaled', 'soundUp', 'lost'],
  rejoining: ['join', 'ticket', 'ticketExpired'],
  disconnecting: ['join', 'leave'],
};

const begun = () => initialTransition(callMachine, effects)[0];
const after = (names: readonly (keyof typeof EVENTS)[], from = begun()) =>
  names.reduce((snapshot, name) => transition(callMachine, snapshot, EVENTS[name])[0], from);

const rows = Object.entries(TRANSITIONS).flatMap(([state, row]) =>
  Object.entries(row).map(([event, next]) => [state, event, next] as const),
);

describe('a call', () => {
  it.each(rows)('moves from %s by %s to %s', (state, event, next) => {
    const before = after(WAYS[state as CallState]);
    expect(before.value).toBe(state);
    expect(after([event as keyof typeof EVENTS], before).value).toBe(next);
  });

  it('has a status for every state, and a state for every status', () => {
    expect(new Set(Object.values(STATUS_OF))).toEqual(new Set(Object.values(CallStatus)));
  });

  it('fails with JoinTimeout before it is joined, with VoiceConnectionFailed after, or as Forbidden', () => {
    expect(after(['join', 'timedOut']).context.error).toBe(CallError.JoinTimeout);
    expect(after(['join', 'refused']).context.error).toBe(CallError.Forbidden);
    expect(after(['join', 'leave', 'left']).context.error).toBe(CallError.None);
    const lost = after([...WAYS.rejoining, ...Array<'timedOut'>(REJOINS_MAX).fill('timedOut')]);
    expect([lost.value, lost.context.error]).toEqual(['disconnected', CallError.VoiceConnectionFailed]);
  });

  it('is given up after so many attempts, unless a connection has held in between', () => {
    const again = ['ticketExpired', 'ticket', 'signaled', 'soundUp'] as const;
    const tired = after([...WAYS.connected, ...Array.from({ length: REJOINS_MAX }, () => again).flat()]);
    expect(tired.value).toBe('connected');
    expect(after(['ticketExpired'], tired).value).toBe('disconnected');
    expect(after(['settled', 'ticketExpired'], tired).value).toBe('rejoining');
  });

  it('runs its actions in order', () => {
    const done: string[] = [];
    const actor = createActor(callMachine, {
      input: {
        ask: (rejoins) => done.push(`ask ${rejoins}`),
        cancelAsk: () => done.push('ask no more'),
        dial: () => done.push('dial'),
        hangUp: () => done.push('hang up'),
        leave: () => done.push('leave'),
        wait: (state) => done.push(state),
      },
    });
    actor.start();
    for (const name of [
      'join',
      'ticket',
      'signaled',
      'soundUp',
      'ticketExpired',
      'ticket',
      'leave',
      'left',
    ] as const)
      actor.send(EVENTS[name]);
    expect(done).toEqual([
      ...['ask 0', 'joining', 'dial', 'connecting', 'signalingConnected', 'connected'],
      ...['hang up', 'ask 1', 'rejoining', 'ask no more', 'dial', 'connecting'],
      ...['hang up', 'leave', 'disconnecting'],
    ]);
  });
});
