// Goal: the lifecycle of a lobby answers every event in every state, as a total table.
import { describe, expect, test } from 'vitest';
import { createActor, transition } from 'xstate';
import { lobbyMachine } from '../../../actors/lobby/lobby.machine.ts';
import type { ResidentEvent, Work } from '../../../actors/runtime/resident.machine.ts';
import type { LobbyState } from '../../../engine/lobby/lobby.ts';
import { refusal } from '../../../protocol/refusal.ts';

type State = 'loading' | 'active' | 'released';
type EventName = ResidentEvent<LobbyState>['type'];

/** Where each event leads, and what the shell is asked on the way. */
const TABLE: Record<State, Record<EventName, readonly [State, ...string[]]>> = {
  loading: {
    work: ['loading'],
    loaded: ['active', 'adopt', 'run held'],
    missing: ['released', 'held refused 10031', 'release'],
    loadFailed: ['released', 'held faulted: disk', 'release'],
    drain: ['released', 'held faulted: The lobby was released.', 'release'],
    commitFailed: ['loading'],
    idle: ['loading'],
  },
  active: {
    work: ['active', 'run fresh'],
    loaded: ['active'],
    missing: ['active'],
    loadFailed: ['active'],
    drain: ['released', 'release'],
    commitFailed: ['released', 'release'],
    idle: ['released', 'release'],
  },
  released: {
    work: ['released'],
    loaded: ['released'],
    missing: ['released'],
    loadFailed: ['released'],
    drain: ['released'],
    commitFailed: ['released'],
    idle: ['released'],
  },
};

function arrange(state: State) {
  const log: string[] = [];
  const work = (name: string): Work<LobbyState> => ({
    run: () => log.push(`run ${name}`),
    refuse: ({ code }) => log.push(`${name} refused ${code}`),
    fault: ({ message }) => log.push(`${name} faulted: ${message}`),
  });
  const shell = {
    refusals: { missing: refusal('UNKNOWN_LOBBY'), full: refusal('API_OVERLOADED') },
    load: () => undefined,
    adopt: () => void log.push('adopt'),
    run: (lobby: LobbyState, given: Work<LobbyState>) => given.run(lobby),
    release: () => void log.push('release'),
  };
  const actor = createActor(lobbyMachine, { input: { shell, backlogMax: 2 } });
  actor.start();
  if (state === 'loading') actor.send({ type: 'work', work: work('held') });
  else actor.send({ type: 'loaded', state: {} as LobbyState });
  if (state === 'released') actor.send({ type: 'drain' });
  log.length = 0;
  const fault = new Error('disk');
  const events: Record<EventName, ResidentEvent<LobbyState>> = {
    work: { type: 'work', work: work('fresh') },
    loaded: { type: 'loaded', state: {} as LobbyState },
    missing: { type: 'missing' },
    loadFailed: { type: 'loadFailed', fault },
    commitFailed: { type: 'commitFailed', fault },
    idle: { type: 'idle' },
    drain: { type: 'drain' },
  };
  return { actor, log, events, work };
}

describe.each(Object.entries(TABLE))('%s', (state, row) => {
  test.each(Object.entries(row))('%s', (event, [next, ...asked]) => {
    const { actor, log, events } = arrange(state as State);
    const given = events[event as EventName];
    if (state === 'released') {
      // An actor that is over takes nothing; what its machine would answer is nothing either.
      const [after, actions] = transition(lobbyMachine, actor.getSnapshot(), given);
      expect([after.value, ...actions]).toEqual([next]);
      return;
    }
    actor.send(given);
    expect([actor.getSnapshot().value, ...log]).toEqual([next, ...asked]);
  });
});

test('a lobby that is loading holds only so much', () => {
  const { actor, log, work } = arrange('loading');
  actor.send({ type: 'work', work: work('second') });
  actor.send({ type: 'work', work: work('third') });
  expect(log).toEqual(['third refused 130000']);
});
