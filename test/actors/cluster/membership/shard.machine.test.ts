// Goal: the lifecycle of a shard answers every event in every state, as a total table.
import { describe, expect, test } from 'vitest';
import { createActor, transition } from 'xstate';
import {
  type ShardEffects,
  type ShardEvent,
  shardMachine,
} from '../../../../actors/cluster/membership/shard.machine.ts';
import type { ShardState } from '../../../../actors/placement/ports.ts';

type EventName = ShardEvent['type'];

/** Where each event leads, and what is done on the way. */
const TABLE: Record<ShardState, Record<EventName, readonly [ShardState, ...(keyof ShardEffects)[]]>> = {
  joining: {
    served: ['serving', 'wake'],
    unsafe: ['joining'],
    safe: ['joining'],
    lost: ['joining', 'abandon', 'enter'],
    drain: ['draining', 'retire'],
    close: ['left', 'release'],
  },
  serving: {
    served: ['serving'],
    unsafe: ['suspended', 'wake'],
    safe: ['serving'],
    lost: ['joining', 'abandon', 'enter'],
    drain: ['draining', 'retire'],
    close: ['left', 'release'],
  },
  suspended: {
    served: ['suspended'],
    unsafe: ['suspended'],
    safe: ['serving', 'wake'],
    lost: ['joining', 'abandon', 'enter'],
    drain: ['draining', 'retire'],
    close: ['left', 'release'],
  },
  draining: {
    served: ['draining'],
    unsafe: ['draining'],
    safe: ['draining'],
    lost: ['draining', 'abandon'],
    drain: ['draining'],
    close: ['left', 'release'],
  },
  left: {
    served: ['left'],
    unsafe: ['left'],
    safe: ['left'],
    lost: ['left'],
    drain: ['left'],
    close: ['left'],
  },
};

const WAY: Record<ShardState, readonly EventName[]> = {
  joining: [],
  serving: ['served'],
  suspended: ['served', 'unsafe'],
  draining: ['drain'],
  left: ['close'],
};

function arrange(state: ShardState) {
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

describe.each(Object.entries(TABLE) as [ShardState, (typeof TABLE)[ShardState]][])(
  'while %s',
  (state, row) => {
    test.each(Object.entries(row) as [EventName, (typeof row)[EventName]][])('%s', (type, [to, ...done]) => {
      const { actor, log } = arrange(state);
      if (state === 'left') {
        // An actor that is over takes nothing; what its machine would answer is nothing either.
        const [after, actions] = transition(shardMachine, actor.getSnapshot(), { type });
        expect([after.value, ...actions]).toEqual([to]);
        return;
      }
      actor.send({ type });
      expect([actor.getSnapshot().value, ...log]).toEqual([to, ...done]);
    });
  },
);
