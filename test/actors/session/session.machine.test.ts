// Goal: every state of a session's lifecycle answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import {
  type SessionEvent,
  type SessionFeedEffects,
  type SessionShell,
  sessionMachine,
} from '../../../actors/session/session.machine.ts';
import { FakeSink } from './harness.ts';

type State =
  | 'opening'
  | 'connected.replaying'
  | 'connected.live'
  | 'detached.shown'
  | 'detached.concealed'
  | 'transferred'
  | 'ended';
type Row = {
  readonly [E in SessionEvent['type']]: readonly [
    State,
    ...(keyof SessionShell | keyof SessionFeedEffects)[],
  ];
};

const over = (state: State): Row => ({
  open: [state],
  restore: [state],
  attach: [state],
  caughtUp: [state],
  detach: [state],
  conceal: [state],
  expire: [state],
  transfer: [state],
  end: [state],
});

/** From each state, by each event: the state after it, and the effects on the way. */
const TRANSITIONS: { readonly [S in State]: Row } = {
  opening: {
    open: ['connected.live', 'flow'],
    restore: ['detached.shown', 'startWindow'],
    attach: ['opening'],
    caughtUp: ['opening'],
    detach: ['ended'],
    conceal: ['opening'],
    expire: ['opening'],
    transfer: ['transferred'],
    end: ['ended'],
  },
  'connected.replaying': {
    open: ['connected.replaying'],
    restore: ['connected.replaying'],
    attach: ['connected.replaying', 'dismiss', 'adopt', 'replay'],
    caughtUp: ['connected.live', 'flow'],
    detach: ['detached.shown', 'startWindow'],
    conceal: ['connected.replaying'],
    expire: ['connected.replaying'],
    transfer: ['transferred'],
    end: ['ended'],
  },
  'connected.live': {
    open: ['connected.live'],
    restore: ['connected.live'],
    attach: ['connected.replaying', 'pause', 'dismiss', 'adopt', 'replay'],
    caughtUp: ['connected.live'],
    detach: ['detached.shown', 'pause', 'startWindow'],
    conceal: ['connected.live'],
    expire: ['connected.live'],
    transfer: ['transferred', 'pause'],
    end: ['ended', 'pause'],
  },
  'detached.shown': {
    open: ['detached.shown'],
    restore: ['detached.shown'],
    attach: ['connected.replaying', 'stopWindow', 'adopt', 'replay'],
    caughtUp: ['detached.shown'],
    detach: ['detached.shown'],
    conceal: ['detached.concealed', 'conceal'],
    expire: ['ended', 'stopWindow'],
    transfer: ['transferred', 'stopWindow'],
    end: ['ended', 'stopWindow'],
  },
  'detached.concealed': {
    open: ['detached.concealed'],
    restore: ['detached.concealed'],
    attach: ['connected.replaying', 'stopWindow', 'adopt', 'reveal', 'replay'],
    caughtUp: ['detached.concealed'],
    detach: ['detached.concealed'],
    conceal: ['detached.concealed'],
    expire: ['ended', 'stopWindow'],
    transfer: ['transferred', 'stopWindow'],
    end: ['ended', 'stopWindow'],
  },
  transferred: over('transferred'),
  ended: over('ended'),
};
const PATHS: { readonly [S in State]: readonly SessionEvent['type'][] } = {
  opening: [],
  'connected.replaying': ['restore', 'attach'],
  'connected.live': ['open'],
  'detached.shown': ['restore'],
  'detached.concealed': ['restore', 'conceal'],
  transferred: ['transfer'],
  ended: ['end'],
};

const eventOf = (type: SessionEvent['type']): SessionEvent =>
  type === 'attach' ? { type, sink: new FakeSink(), seq: 7 } : { type };

const shell = {} as SessionShell;

const stateOf = (value: string | Readonly<Record<string, unknown>>): string =>
  typeof value === 'string' ? value : Object.entries(value).flat().join('.');

/** The state after the events, and the names of the last one's effects. */
function after(...events: SessionEvent['type'][]) {
  let [snapshot, actions] = initialTransition(sessionMachine, shell);
  for (const type of events) [snapshot, actions] = transition(sessionMachine, snapshot, eventOf(type));
  return [stateOf(snapshot.value), ...actions.map((action) => action.type)];
}

describe('the session machine', () => {
  for (const [state, row] of Object.entries(TRANSITIONS))
    for (const [type, wanted] of Object.entries(row))
      it(`${type} in ${state} leads to ${wanted.join(' and ')}`, () => {
        const path = PATHS[state as State];
        expect(after(...path)[0]).toBe(state);
        expect(after(...path, type as SessionEvent['type'])).toEqual(wanted);
      });

  it('has exactly the states and events of the table', () => {
    const states = Object.entries(sessionMachine.states).flatMap(([name, { states: inner }]) => {
      const names = Object.keys(inner);
      return names.length === 0 ? [name] : names.map((each) => `${name}.${each}`);
    });
    expect(states.sort()).toEqual(Object.keys(TRANSITIONS).sort());
    expect([...new Set(sessionMachine.events)].sort()).toEqual(Object.keys(TRANSITIONS.opening).sort());
  });
});
