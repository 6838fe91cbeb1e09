// Goal: every state of a call's lifecycle answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import { type CallEvent, type CallShellEffects, callMachine } from '../../../actors/call/call.machine.ts';

/** As the machine has them: one that is added there is missed in the table here by the compiler. */
type State = SnapshotFrom<typeof callMachine>['value'];
type Row = { readonly [E in CallEvent['type']]: readonly [State, ...(keyof CallShellEffects)[]] };

/** From each state, by each event: the state after it, and the effects on the way. */
const TRANSITIONS: { readonly [S in State]: Row } = {
  forming: { connect: ['active', 'open'], empty: ['forming'], end: ['ended', 'release'] },
  active: { connect: ['active'], empty: ['forming', 'close'], end: ['ended', 'close', 'release'] },
  ended: { connect: ['ended'], empty: ['ended'], end: ['ended'] },
};
const PATHS: { readonly [S in State]: readonly CallEvent['type'][] } = {
  forming: [],
  active: ['connect'],
  ended: ['end'],
};

/** The state after the events, and the names of the last one's effects. */
function after(...events: CallEvent['type'][]) {
  let [snapshot, actions] = initialTransition(callMachine, {} as CallShellEffects);
  for (const type of events) [snapshot, actions] = transition(callMachine, snapshot, { type });
  return [snapshot.value, ...actions.map((action) => action.type)];
}

describe('the call machine', () => {
  for (const [state, row] of Object.entries(TRANSITIONS))
    for (const [type, wanted] of Object.entries(row))
      it(`${type} in ${state} leads to ${wanted.join(' and ')}`, () => {
        const path = PATHS[state as State];
        expect(after(...path)[0]).toBe(state);
        expect(after(...path, type as CallEvent['type'])).toEqual(wanted);
      });

  it('has exactly the states and events of the table', () => {
    expect(Object.keys(callMachine.states).sort()).toEqual(Object.keys(TRANSITIONS).sort());
    expect([...new Set(callMachine.events)].sort()).toEqual(Object.keys(TRANSITIONS.forming).sort());
  });
});
