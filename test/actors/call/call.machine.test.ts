// Goal: every state of a call's lifecycle answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import { type CallEvent, type CallShellEffects, callMachine } from '../../../actors/call/call.machine.ts';

type Value = SnapshotFrom<typeof callMachine>['value'];
/** As the machine has them: one that is added there is missed in the table here by the compiler. */
type State = Extract<Value, string> | Exclude<Value, string>['active'];
type Row = { readonly [E in CallEvent['type']]: readonly [State, ...(keyof CallShellEffects)[]] };

/** From each state, by each event: the state after it, and the effects on the way. The middle four are of `active`. */
const TRANSITIONS: { readonly [S in State]: Row } = {
  forming: {
    connect: ['plain', 'open'],
    empty: ['forming'],
    end: ['ended', 'release'],
    daveOff: ['forming'],
    daveNegotiates: ['forming'],
    davePrepares: ['forming'],
    daveSecures: ['forming'],
  },
  plain: {
    connect: ['plain'],
    empty: ['forming', 'close'],
    end: ['ended', 'close', 'release'],
    daveOff: ['plain'],
    daveNegotiates: ['negotiating'],
    davePrepares: ['transitioning'],
    daveSecures: ['secure', 'encryptOnly'],
  },
  negotiating: {
    connect: ['negotiating'],
    empty: ['forming', 'close'],
    end: ['ended', 'close', 'release'],
    daveOff: ['plain'],
    daveNegotiates: ['negotiating'],
    davePrepares: ['transitioning'],
    daveSecures: ['secure', 'encryptOnly'],
  },
  transitioning: {
    connect: ['transitioning'],
    empty: ['forming', 'close'],
    end: ['ended', 'close', 'release'],
    daveOff: ['plain'],
    daveNegotiates: ['negotiating'],
    davePrepares: ['transitioning'],
    daveSecures: ['secure', 'encryptOnly'],
  },
  secure: {
    connect: ['secure'],
    empty: ['forming', 'allowPlain', 'close'],
    end: ['ended', 'allowPlain', 'close', 'release'],
    daveOff: ['plain', 'allowPlain'],
    daveNegotiates: ['negotiating', 'allowPlain'],
    davePrepares: ['transitioning', 'allowPlain'],
    daveSecures: ['secure'],
  },
  ended: {
    connect: ['ended'],
    empty: ['ended'],
    end: ['ended'],
    daveOff: ['ended'],
    daveNegotiates: ['ended'],
    davePrepares: ['ended'],
    daveSecures: ['ended'],
  },
};
const PATHS: { readonly [S in State]: readonly CallEvent['type'][] } = {
  forming: [],
  plain: ['connect'],
  negotiating: ['connect', 'daveNegotiates'],
  transitioning: ['connect', 'davePrepares'],
  secure: ['connect', 'daveSecures'],
  ended: ['end'],
};

/** The state after the events, and the names of the last one's effects. */
function after(...events: CallEvent['type'][]) {
  let [snapshot, actions] = initialTransition(callMachine, {} as CallShellEffects);
  for (const type of events) [snapshot, actions] = transition(callMachine, snapshot, { type });
  const { value } = snapshot;
  return [typeof value === 'string' ? value : value.active, ...actions.map((action) => action.type)];
}

describe('the call machine', () => {
  for (const [state, row] of Object.entries(TRANSITIONS))
    for (const [type, wanted] of Object.entries(row))
      it(`in ${state}, by ${type}, is ${wanted.join(' and does ')}`, () => {
        const path = PATHS[state as State];
        expect(after(...path)[0]).toBe(state);
        expect(after(...path, type as CallEvent['type'])).toEqual(wanted);
      });

  it('has no state and no event beyond these', () => {
    const { active, ...outer } = callMachine.states;
    const states = [...Object.keys(outer), ...Object.keys(active?.states ?? {})];
    expect(states.sort()).toEqual(Object.keys(TRANSITIONS).sort());
    expect([...new Set(callMachine.events)].sort()).toEqual(Object.keys(TRANSITIONS.forming).sort());
  });
});
