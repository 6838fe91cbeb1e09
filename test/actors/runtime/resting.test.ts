// Goal: an actor that rests between events lives as one that never does, and keeps nothing but its state meanwhile.
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnyActorRef, createActor, type SnapshotFrom, setup } from 'xstate';
import { type Hidden, hide, type RestartState, RestingActor } from '../../../actors/runtime/resting.ts';
import { createSupervisor } from '../../../actors/runtime/supervisor.ts';

const NAMES = ['open', 'attach', 'detach', 'bug', 'end'] as const;
type Event = { readonly type: (typeof NAMES)[number] };

interface Log {
  readonly lines: string[];
  again: (() => void) | null;
}

const machine = setup({
  types: {} as { input: Log; context: Hidden<Log>; events: Event },
  actions: {
    note: ({ context, event }) => void context.own().lines.push(event.type),
    again: ({ context }) => context.own().again?.(),
    fail: () => {
      throw new Error('A bug.');
    },
  },
}).createMachine({
  context: ({ input }) => hide(input),
  initial: 'opening',
  states: {
    opening: { entry: 'note', on: { open: 'connected' } },
    connected: {
      on: {
        attach: { target: '.replaying', actions: 'again' },
        detach: 'away',
        end: 'over',
        bug: { actions: 'fail' },
      },
      initial: 'live',
      states: { live: { entry: 'note', exit: 'note' }, replaying: { on: { open: 'live' } } },
    },
    away: { entry: 'note', on: { attach: 'connected.replaying', end: 'over' } },
    over: { type: 'final', entry: 'note' },
  },
});

type Value = SnapshotFrom<typeof machine>['value'];

function arrange() {
  const log: Log = { lines: [], again: null };
  const supervisor = createSupervisor();
  const made: WeakRef<AnyActorRef>[] = [];
  const actor: RestingActor<Event, Value, Hidden<Log>> = new RestingActor(
    {
      createActor(kept: RestartState<Value, Hidden<Log>> | null) {
        const options = { input: log, parent: supervisor };
        const actor =
          kept === null
            ? createActor(machine, options)
            : createActor(machine, { ...options, snapshot: machine.resolveState(kept) });
        made.push(new WeakRef<AnyActorRef>(actor));
        return actor;
      },
      actorEnded: () => void log.lines.push('ended'),
      actorFailed: (error) => void log.lines.push(String(error)),
    },
    supervisor,
  );
  actor.start();
  return { actor, log, made };
}

const view = ({ actor, log }: ReturnType<typeof arrange>) => {
  const { status, value } = actor.snapshot;
  return { status, value, lines: log.lines };
};

describe('an actor that rests', () => {
  test('answers every sequence of events as one that never rests', () => {
    const event = fc.constantFrom(...NAMES);
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.boolean()), { maxLength: 20 }), (steps) => {
        const [resting, awake] = [arrange(), arrange()];
        for (const [type, rests] of steps) {
          resting.actor.send({ type });
          awake.actor.send({ type });
          if (rests) resting.actor.rest();
          expect(view(resting)).toEqual(view(awake));
        }
      }),
    );
  });

  test('answers in order what its own effects send it', () => {
    const { actor, log } = arrange();
    actor.send({ type: 'open' });
    actor.rest();
    log.again = () => actor.send({ type: 'open' });
    actor.send({ type: 'attach' });
    expect(actor.snapshot.value).toEqual({ connected: 'live' });
    expect(actor.isResting).toBe(false);
  });

  test('reports its state without becoming an actor again', () => {
    const { actor, made } = arrange();
    actor.rest();
    expect(actor.snapshot).toMatchObject({ status: 'active', value: 'opening' });
    expect(actor.isResting).toBe(true);
    expect(made).toHaveLength(1);
  });

  test('does not rest after its end, which it reports once', () => {
    const { actor, log } = arrange();
    for (const type of ['open', 'end'] as const) actor.send({ type });
    actor.rest();
    expect(actor.isResting).toBe(false);
    expect(actor.snapshot.status).toBe('done');
    expect(log.lines.filter((line) => line === 'ended')).toHaveLength(1);
  });

  test('leaves its XState actor to the garbage collector', async () => {
    const { actor, made } = arrange();
    actor.send({ type: 'open' });
    actor.rest();
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    // The target of a WeakRef lives at least until the end of the turn that made or read it.
    await pause(0);
    collect();
    expect(made.map((each) => each.deref())).toEqual([undefined]);
    actor.send({ type: 'detach' });
    expect(actor.snapshot.value).toBe('away');
  });

  test('does not show XState what its context leads to', () => {
    const { actor, log } = arrange();
    const trap = { reads: 0 };
    Object.defineProperty(log, 'trap', { enumerable: true, get: () => (trap.reads += 1) });
    actor.rest();
    actor.send({ type: 'open' });
    expect(trap.reads).toBe(0);
  });
});
