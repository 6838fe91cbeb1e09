// Goal: every state of a client's connection answers every event, and only as written here.
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import { type StatusEffects, type StatusEvent, statusMachine } from '../../sdk/status.machine.ts';

type State =
  | 'disconnected'
  | 'httpWait'
  | 'connecting'
  | 'connected'
  | 'ready'
  | 'reconnecting'
  | 'disconnecting';
type Row = { readonly [E in StatusEvent['type']]: readonly [State, ...(keyof StatusEffects)[]] };

/** From each state, by each event: the state after it, and the effects on the way. */
const TRANSITIONS: { readonly [S in State]: Row } = {
  disconnected: {
    connect: ['httpWait', 'ask'],
    addressed: ['disconnected'],
    opened: ['disconnected'],
    ready: ['disconnected'],
    lost: ['disconnected'],
    renew: ['disconnected'],
    ended: ['disconnected'],
    disconnect: ['disconnected'],
    closed: ['disconnected'],
  },
  httpWait: {
    connect: ['httpWait'],
    addressed: ['connecting', 'open'],
    opened: ['httpWait'],
    ready: ['httpWait'],
    lost: ['httpWait'],
    renew: ['httpWait'],
    ended: ['disconnected'],
    disconnect: ['disconnecting', 'close'],
    closed: ['httpWait'],
  },
  connecting: {
    connect: ['connecting'],
    addressed: ['connecting'],
    opened: ['connected'],
    ready: ['connecting'],
    lost: ['reconnecting'],
    renew: ['connecting', 'open'],
    ended: ['disconnected'],
    disconnect: ['disconnecting', 'close'],
    closed: ['connecting'],
  },
  connected: {
    connect: ['connected'],
    addressed: ['connected'],
    opened: ['connected'],
    ready: ['ready'],
    lost: ['reconnecting'],
    renew: ['connecting', 'open'],
    ended: ['disconnected'],
    disconnect: ['disconnecting', 'close'],
    closed: ['connected'],
  },
  ready: {
    connect: ['ready'],
    addressed: ['ready'],
    opened: ['ready'],
    ready: ['ready'],
    lost: ['reconnecting'],
    renew: ['connecting', 'open'],
    ended: ['disconnected'],
    disconnect: ['disconnecting', 'close'],
    closed: ['ready'],
  },
  reconnecting: {
    connect: ['reconnecting'],
    addressed: ['reconnecting'],
    opened: ['connected'],
    ready: ['reconnecting'],
    lost: ['reconnecting'],
    renew: ['connecting', 'open'],
    ended: ['disconnected'],
    disconnect: ['disconnecting', 'close'],
    closed: ['reconnecting'],
  },
  disconnecting: {
    connect: ['disconnecting'],
    addressed: ['disconnecting'],
    opened: ['disconnecting'],
    ready: ['disconnecting'],
    lost: ['disconnecting'],
    renew: ['disconnecting'],
    ended: ['disconnected'],
    disconnect: ['disconnecting'],
    closed: ['disconnected'],
  },
};
const PATHS: { readonly [S in State]: readonly StatusEvent['type'][] } = {
  disconnected: [],
  httpWait: ['connect'],
  connecting: ['connect', 'addressed'],
  connected: ['connect', 'addressed', 'opened'],
  ready: ['connect', 'addressed', 'opened', 'ready'],
  reconnecting: ['connect', 'addressed', 'lost'],
  disconnecting: ['connect', 'disconnect'],
};

/** The state after the events, and the names of the last one's effects. */
function after(...events: StatusEvent['type'][]) {
  let [snapshot, actions] = initialTransition(statusMachine, {} as StatusEffects);
  for (const type of events) [snapshot, actions] = transition(statusMachine, snapshot, { type });
  return [snapshot.value, ...(events.length === 0 ? [] : actions.map((action) => action.type))];
}

describe('the status machine', () => {
  for (const [state, row] of Object.entries(TRANSITIONS))
    for (const [type, wanted] of Object.entries(row))
      it(`${type} in ${state} leads to ${wanted.join(' and ')}`, () => {
        const path = PATHS[state as State];
        expect(after(...path)[0]).toBe(state);
        expect(after(...path, type as StatusEvent['type'])).toEqual(wanted);
      });

  it('has exactly the states and events of the table', () => {
    expect(Object.keys(statusMachine.states).sort()).toEqual(Object.keys(TRANSITIONS).sort());
    expect([...new Set(statusMachine.events)].sort()).toEqual(Object.keys(TRANSITIONS.ready).sort());
  });
});
