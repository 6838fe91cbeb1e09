// Goal: every state of a session's lifecycle answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import {
  type SessionEvent,
  type SessionShell,
  sessionMachine,
} from '../../../actors/session/session.machine.ts';
import { FakeSink } from './harness.ts';

type State = 'connected' | 'detached.shown' | 'detached.concealed' | 'ended';
type Row = { readonly [E in SessionEvent['type']]: readonly [State, ...(keyof SessionShell)[]] };

/** From each state, by each event: the state after it, and the effects on the way. */
const TRANSITIONS: { readonly [S in State]: Row } = {
  connected: {
    attach: ['connected', 'dismiss', 'adopt'],
    detach: ['detached.shown', 'startWindow'],
    conceal: ['connected'],
    expire: ['connected'],
    end: ['ended', 'release'],
  },
  'detached.shown': {
    attach: ['connected', 'stopWindow', 'adopt'],
    detach: ['detached.shown'],
    conceal: ['detached.concealed', 'conceal'],
    expire: ['ended', 'stopWindow', 'release'],
    end: ['ended', 'stopWindow', 'release'],
  },
  'detached.concealed': {
    attach: ['connected', 'stopWindow', 'adopt', 'reveal'],
    detach: ['detached.concealed'],
    conceal: ['detached.concealed'],
    expire: ['ended', 'stopWindow', 'release'],
    end: ['ended', 'stopWindow', 'release'],
  },
  ended: { attach: ['ended'], detach: ['ended'], conceal: ['ended'], expire: ['ended'], end: ['ended'] },
};
const PATHS: { readonly [S in State]: readonly SessionEvent['type'][] } = {
  connected: [],
  'detached.shown': ['detach'],
  'detached.concealed': ['detach', 'conceal'],
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
      it(`in ${state}, by ${type}, is ${wanted.join(' and does ')}`, () => {
        const path = PATHS[state as State];
        expect(after(...path)[0]).toBe(state);
        expect(after(...path, type as SessionEvent['type'])).toEqual(wanted);
      });

  it('has no state and no event beyond these', () => {
    const states = Object.entries(sessionMachine.states).flatMap(([name, { states: inner }]) => {
      const names = Object.keys(inner);
      return names.length === 0 ? [name] : names.map((each) => `${name}.${each}`);
    });
    expect(states.sort()).toEqual(Object.keys(TRANSITIONS).sort());
    expect([...new Set(sessionMachine.events)].sort()).toEqual(Object.keys(TRANSITIONS.connected).sort());
  });
});
