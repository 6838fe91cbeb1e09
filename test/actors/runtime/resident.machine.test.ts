// Goal: the lifecycle of a resident aggregate answers every event in every state, as a total table.
import { describe, expect, test } from 'vitest';
import { createActor, transition } from 'xstate';
import {
  type End,
  type ResidentEvent,
  residentMachine,
  type Work,
} from '../../../actors/runtime/resident.machine.ts';
import { refusal } from '../../../protocol/refusal.ts';

interface Counter {
  value: number;
}

type State = 'loading' | 'active' | 'draining' | 'handingOver' | 'deleting' | 'released';
type EventName = ResidentEvent<Counter>['type'];
type Row = Record<EventName, readonly [State, ...string[]]>;

const MOVED = 'held faulted: The aggregate has moved to another shard.';
const ENDS = {
  commitFailed: ['released', 'forget', 'release failed: disk'],
  fenced: ['released', 'forget', 'release stale: disk'],
  deleted: ['released', 'forget', 'release gone'],
  abandon: ['released', 'forget', 'release moved'],
  close: ['released', 'forget', 'release closed'],
} as const;

/** A state that answers only what is listed. */
const only = (state: State, answers: Partial<Row>): Row => {
  const silent = Object.fromEntries(EVENTS.map((name) => [name, [state]])) as unknown as Row;
  return { ...silent, ...answers };
};

const EVENTS: readonly EventName[] = [
  ...(['work', 'loaded', 'missing', 'loadFailed', 'commitFailed', 'fenced', 'idle', 'deleted'] as const),
  ...(['handOver', 'settled', 'written', 'deleting', 'abandon', 'close'] as const),
];

/** Where each event leads, and what the shell is asked on the way. */
const TABLE: Record<State, Row> = {
  loading: only('loading', {
    loaded: ['active', 'adopt', 'run held'],
    missing: ['released', 'held refused 10004', 'forget', 'release missing'],
    loadFailed: ['released', 'held faulted: disk', 'forget', 'release failed: disk'],
    handOver: ['released', MOVED, 'forget', 'release moved'],
    abandon: ['released', MOVED, 'forget', 'release moved'],
    close: ['released', 'held faulted: The counter was released.', 'forget', 'release closed'],
  }),
  active: only('active', {
    ...ENDS,
    work: ['active', 'run fresh'],
    idle: ['released', 'forget', 'release idle'],
    handOver: ['draining', 'settle'],
    deleting: ['deleting'],
  }),
  draining: only('draining', {
    ...ENDS,
    work: ['draining', 'run fresh'],
    settled: ['handingOver', 'hand over'],
    deleting: ['deleting'],
  }),
  handingOver: only('handingOver', {
    ...ENDS,
    work: ['handingOver', 'run fresh'],
    written: ['released', 'forget', 'release moved'],
  }),
  deleting: only('deleting', {
    deleted: ['released', 'held refused 10004', 'forget', 'release gone'],
    commitFailed: ['released', 'held faulted: disk', 'forget', 'release failed: disk'],
    fenced: ['released', 'held faulted: disk', 'forget', 'release stale: disk'],
    abandon: ['released', MOVED, 'forget', 'release moved'],
    close: ['released', 'held faulted: The counter was released.', 'forget', 'release closed'],
  }),
  released: only('released', {}),
};

const WAY: Record<State, readonly EventName[]> = {
  loading: [],
  active: ['loaded'],
  draining: ['loaded', 'handOver'],
  handingOver: ['loaded', 'handOver', 'settled'],
  deleting: ['loaded', 'deleting'],
  released: ['loaded', 'close'],
};

const machine = residentMachine<Counter>('counter');
const nameOf = (end: End): string => ('fault' in end ? `${end.why}: ${end.fault.message}` : end.why);

function arrange(state: State) {
  const log: string[] = [];
  const work = (name: string): Work<Counter> => ({
    run: () => log.push(`run ${name}`),
    refuse: ({ code }) => log.push(`${name} refused ${code}`),
    fault: ({ message }) => log.push(`${name} faulted: ${message}`),
  });
  const shell = {
    refusals: { missing: refusal('UNKNOWN_GUILD'), full: refusal('API_OVERLOADED') },
    load: () => undefined,
    adopt: () => void log.push('adopt'),
    run: (counter: Counter, given: Work<Counter>) => given.run(counter),
    settle: () => void log.push('settle'),
    handOver: () => void log.push('hand over'),
    release: (end: End) => void log.push(`release ${nameOf(end)}`),
  };
  const fault = new Error('disk');
  const plain = (type: 'missing' | 'idle' | 'deleting' | 'deleted' | 'handOver' | 'settled' | 'written') => ({
    type,
  });
  const events: Record<EventName, ResidentEvent<Counter>> = {
    work: { type: 'work', work: work('fresh') },
    loaded: { type: 'loaded', state: { value: 0 } },
    loadFailed: { type: 'loadFailed', fault },
    commitFailed: { type: 'commitFailed', fault },
    fenced: { type: 'fenced', fault },
    missing: plain('missing'),
    idle: plain('idle'),
    deleting: plain('deleting'),
    deleted: plain('deleted'),
    handOver: plain('handOver'),
    settled: plain('settled'),
    written: plain('written'),
    abandon: { type: 'abandon' },
    close: { type: 'close' },
  };
  const forget = () => void log.push('forget');
  const resume = (works: Work<Counter>[]) => {
    for (const each of works) each.run({ value: 0 });
  };
  const actor = createActor(machine, { input: { shell, backlogMax: 2, forget, resume } });
  actor.start();
  if (state === 'loading') actor.send({ type: 'work', work: work('held') });
  for (const name of WAY[state]) actor.send(events[name]);
  if (state === 'deleting') actor.send({ type: 'work', work: work('held') });
  log.length = 0;
  return { actor, log, events, work };
}

describe.each(Object.entries(TABLE))('a resident that is %s', (state, row) => {
  test.each(Object.entries(row))('answers %s', (event, [next, ...asked]) => {
    const { actor, log, events } = arrange(state as State);
    const given = events[event as EventName];
    if (state === 'released') {
      // An actor that is over takes nothing; what its machine would answer is nothing either.
      const [after, actions] = transition(machine, actor.getSnapshot(), given);
      expect([after.value, ...actions]).toEqual([next]);
      return;
    }
    actor.send(given);
    expect([actor.getSnapshot().value, ...log]).toEqual([next, ...asked]);
  });
});

test.each(['loading', 'deleting'] as const)('a resident that is %s holds only so much', (state) => {
  const { actor, log, work } = arrange(state);
  actor.send({ type: 'work', work: work('second') });
  actor.send({ type: 'work', work: work('third') });
  expect(log).toEqual(['third refused 130000']);
});
