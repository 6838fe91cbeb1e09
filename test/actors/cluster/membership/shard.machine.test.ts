// Goal: the lifecycle of a shard answers every event in every state, as a total table.
import { describe, expect, test } from 'vitest';
import { createActor, type StateValueFrom, transition } from 'xstate';
import {
  type ShardEffects,
  type ShardEvent,
  shardMachine,
} from '../../../../actors/cluster/membership/shard.machine.ts';

type EventName = ShardEvent['type'];
type State = StateValueFrom<typeof shardMachine>;

/** Where each event leads, and what is done on the way. */
const TABLE: Record<State, Record<EventName, readonly [State, ...(keyof ShardEffects)[]]>> = {
  entering: {
    entered: ['joining'],
    served: ['entering'],
    unsafe: ['entering'],
    safe: ['entering'],
    lost: ['entering', 'abandon', 'enter'],
    drain: ['entering'],
    drained: ['entering'],
    rejected: ['left', 'release'],
    close: ['left', 'release'],
  },
  joining: {
    entered: ['joining'],
    served: ['serving', 'wake'],
    unsafe: ['joining'],
    safe: ['joining'],
    lost: ['entering', 'abandon', 'enter'],
    drain: ['draining', 'retire'],
    drained: ['joining'],
    rejected: ['joining'],
    close: ['left', 'release'],
  },
  serving: {
    entered: ['serving'],
    served: ['serving'],
    unsafe: ['suspended', 'wake'],
    safe: ['serving'],
    lost: ['entering', 'abandon', 'enter'],
    drain: ['draining', 'retire'],
    drained: ['serving'],
    rejected: ['serving'],
    close: ['left', 'release'],
  },
  suspended: {
    entered: ['suspended'],
    served: ['suspended'],
    unsafe: ['suspended'],
    safe: ['serving', 'wake'],
    lost: ['entering', 'abandon', 'enter'],
    drain: ['draining', 'retire'],
    drained: ['suspended'],
    rejected: ['suspended'],
    close: ['left', 'release'],
  },
  draining: {
    entered: ['draining'],
    served: ['draining'],
    unsafe: ['draining'],
    safe: ['draining'],
    lost: ['drained', 'abandon'],
    drain: ['draining'],
    drained: ['drained'],
    rejected: ['draining'],
    close: ['left', 'release'],
  },
  drained: {
    entered: ['drained'],
    served: ['drained'],
    unsafe: ['drained'],
    safe: ['drained'],
    lost: ['drained', 'abandon'],
    drain: ['drained'],
    drained: ['drained'],
    rejected: ['drained'],
    close: ['left', 'release'],
  },
  left: {
    entered: ['left'],
    served: ['left'],
    unsafe: ['left'],
    safe: ['left'],
    lost: ['left'],
    drain: ['left'],
    drained: ['left'],
    rejected: ['left'],
    close: ['left'],
  },
};

const WAY: Record<State, readonly PlainEvent[]> = {
  entering: [],
  joining: ['entered'],
  serving: ['entered', 'served'],
  suspended: ['entered', 'served', 'unsafe'],
  draining: ['entered', 'drain'],
  drained: ['entered', 'drain', 'drained'],
  left: ['close'],
};

type PlainEvent = Exclude<EventName, 'rejected'>;

const eventOf = (type: EventName): ShardEvent =>
  type === 'rejected' ? { type, reason: new Error('Another count of partitions.') } : { type };

function arrange(state: State) {
  const log: string[] = [];
  const note = (what: string) => () => void log.push(what);
  const input: ShardEffects = {
    enter: note('enter'),
    abandon: note('abandon'),
    wake: note('wake'),
    retire: note('retire'),
    release: note('release'),
  };
  const actor = createActor(shardMachine, { input }).start();
  for (const type of WAY[state]) actor.send({ type });
  expect(actor.getSnapshot().value).toBe(state);
  log.length = 0;
  return { actor, log };
}

describe.each(Object.entries(TABLE) as [State, (typeof TABLE)[State]][])('while %s', (state, row) => {
  test.each(Object.entries(row) as [EventName, (typeof row)[EventName]][])('%s', (type, [to, ...done]) => {
    const { actor, log } = arrange(state);
    if (state === 'left') {
      // An actor that is over takes nothing; what its machine would answer is nothing either.
      const [after, actions] = transition(shardMachine, actor.getSnapshot(), eventOf(type));
      expect([after.value, ...actions]).toEqual([to]);
      return;
    }
    actor.send(eventOf(type));
    expect([actor.getSnapshot().value, ...log]).toEqual([to, ...done]);
  });
});
