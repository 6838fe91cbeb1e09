// Goal: under a supervisor no partition has two owners that are both sure of it, whatever processes do to the channel.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterView, ShardInfo } from '../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { laneOf, type MessagePort, processChannel } from '../../../transports/cluster/channel.ts';
import { supervisedDirectory } from '../../../transports/cluster/directory.supervised.ts';
import { runSupervisorDirectory } from '../../../transports/cluster/supervisordirectory.ts';
import { channelPair } from '../../support/channel.ts';

const PARTITIONS = 8;
const TTL_MS = 1000;

function info(id: string, run = 1): ShardInfo {
  return {
    ...{ id, instance: `${id}.${run}`, address: '127.0.0.1:1', adminUrl: null, host: 'here', pid: run },
    ...{ weight: 100, worker: 0, version: '1.2.3', startedMs: 0, draining: false },
  };
}

function arrange() {
  const clock = new VirtualClock();
  const supervisorDirectory = runSupervisorDirectory({ partitions: PARTITIONS, leaseTtlMs: TTL_MS }, clock);
  const join = (id: string, run = 1) => {
    const pair = channelPair();
    const seat = supervisorDirectory.attach(pair.one);
    const directory = supervisedDirectory(pair.other, { partitions: PARTITIONS, leaseTtlMs: TTL_MS }, clock);
    const views: ClusterView[] = [];
    const lost: string[] = [];
    const listener = {
      changed: (view: ClusterView) => void views.push(view),
      renewed: () => undefined,
      lost: (reason: string) => void lost.push(reason),
    };
    const shard = info(id, run);
    const owners = () => views.at(-1)?.owners.map((owner) => owner?.shardId ?? null) ?? [];
    return {
      pair,
      seat,
      directory,
      views,
      lost,
      shard,
      owners,
      enter: () => directory.enter(shard, listener),
    };
  };
  return { clock, hub: supervisorDirectory, join };
}

describe('a shard under a supervisor', () => {
  test('keeps its lease when the process of the supervisor was paused', async () => {
    const { clock, hub: supervisorDirectory, join } = arrange();
    const a = join('shard-0');
    await a.enter();
    clock.standStill(10 * TTL_MS);
    clock.advance(TTL_MS / 2);
    expect([a.lost, supervisorDirectory.view.shards.length]).toEqual([[], 1]);
  });

  test('is a member once it has entered, and all members see each other', async () => {
    const { join, hub: supervisorDirectory } = arrange();
    const [a, b] = [join('shard-0'), join('shard-1')];
    await a.enter();
    expect(a.views.at(-1)?.shards.map(({ id }) => id)).toEqual(['shard-0']);
    await b.enter();
    for (const { views } of [a, b])
      expect(views.at(-1)?.shards.map(({ id }) => id)).toEqual(['shard-0', 'shard-1']);
    expect(a.views.at(-1)).toEqual(supervisorDirectory.view);
    await b.directory.update({ draining: true });
    expect(a.views.at(-1)?.shards[1]?.draining).toBe(true);
    expect(a.views.map(({ revision }) => revision)).toEqual(
      [...new Set(a.views.map(({ revision }) => revision))].sort(),
    );
  });

  test('has a worker number of its own, and one that begins again has another', async () => {
    const { join } = arrange();
    const [a, b] = [join('shard-0'), join('shard-1')];
    const first = await a.directory.worker();
    expect(await a.directory.worker()).toBe(first);
    const second = await b.directory.worker();
    expect(second).not.toBe(first);
    a.seat.gone();
    const again = join('shard-0', 2);
    expect([first, second]).not.toContain(await again.directory.worker());
  });

  test('claims free partitions, releases them, and publishes its epochs', async () => {
    const { join } = arrange();
    const [a, b] = [join('shard-0'), join('shard-1')];
    await a.enter();
    await b.enter();
    expect(await a.directory.claim([0, 1, 1, 2, 99, -1])).toEqual([0, 1, 2]);
    expect(await b.directory.claim([2, 3])).toEqual([3]);
    await a.directory.publish(
      new Map([
        [0, 7],
        [3, 8],
      ]),
    );
    expect(b.views.at(-1)?.owners[0]).toEqual({ shardId: 'shard-0', instance: 'shard-0.1', epoch: 7 });
    expect(b.views.at(-1)?.owners[3]?.shardId).toBe('shard-1');
    await b.directory.release([0, 3]);
    expect(a.owners().slice(0, 4)).toEqual(['shard-0', 'shard-0', 'shard-0', null]);
    await a.directory.leave();
    expect(b.owners()).toEqual(new Array(PARTITIONS).fill(null));
    expect(b.views.at(-1)?.shards.map(({ id }) => id)).toEqual(['shard-1']);
    await expect(a.directory.claim([0])).rejects.toThrow('not a member');
  });

  test('loses everything at once when its process ends', async () => {
    const { join } = arrange();
    const [a, b] = [join('shard-0'), join('shard-1')];
    await a.enter();
    await b.enter();
    await a.directory.claim([0, 1]);
    a.pair.close();
    expect(b.owners().slice(0, 2)).toEqual([null, null]);
    expect(await b.directory.claim([0])).toEqual([0]);
    const again = join('shard-0', 2);
    await again.enter();
    expect(again.owners()[0]).toBe('shard-1');
  });

  test('renews its lease while it runs, loses it when its renewals stop, and may then enter again', async () => {
    const { join, clock } = arrange();
    const [a, b] = [join('shard-0'), join('shard-1')];
    await a.enter();
    await b.enter();
    await a.directory.claim([0]);
    clock.advance(10 * TTL_MS);
    expect(a.lost).toEqual([]);
    expect(a.directory.safeUntilMs()).toBeGreaterThan(clock.monotonic());
    a.pair.hold(true);
    clock.advance(TTL_MS * 0.95);
    expect(a.directory.safeUntilMs()).toBeLessThan(clock.monotonic());
    expect(b.owners()[0]).toBe('shard-0');
    clock.advance(TTL_MS);
    expect(b.owners()[0]).toBe(null);
    a.pair.hold(false);
    expect(a.lost).toEqual([expect.stringContaining('shard-0 sent nothing for')]);
    await expect(a.directory.claim([1])).rejects.toThrow('not a member');
    await a.enter();
    expect(await a.directory.claim([0])).toEqual([0]);
  });

  test('is refused while another process is that shard', async () => {
    const { join } = arrange();
    await join('shard-0').enter();
    await expect(join('shard-0', 2).enter()).rejects.toThrow('Shard shard-0 already exists: process 1.');
  });

  test('rejects claims once its supervisor has exited, and is safe only until its lease expires', async () => {
    const { join, clock } = arrange();
    const a = join('shard-0');
    await a.enter();
    a.pair.hold(true);
    const unanswered = expect(a.directory.claim([0])).rejects.toThrow('did not answer');
    clock.advance(2 * TTL_MS);
    await unanswered;
    const cut = expect(a.directory.claim([0])).rejects.toThrow('supervisor has exited');
    a.pair.close();
    await cut;
    await expect(a.directory.claim([0])).rejects.toThrow('closed');
    expect(a.directory.safeUntilMs()).toBeLessThan(clock.monotonic());
  });

  test('waits for no answer longer than a lease, as a member or before', async () => {
    const { clock } = arrange();
    const directory = supervisedDirectory(
      channelPair().other,
      { partitions: PARTITIONS, leaseTtlMs: TTL_MS },
      clock,
    );
    const asked = [
      directory.worker(),
      directory.enter(info('shard-0'), {
        changed: () => undefined,
        lost: () => undefined,
        renewed: () => undefined,
      }),
    ];
    const outcomes = Promise.allSettled(asked);
    clock.advance(TTL_MS);
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('1000 ms') },
      });
  });

  test('never holds a partition that another one is sure of: any order of claims, pauses, ends and time', async () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('claim' as const),
        who: fc.nat(2),
        which: fc.uniqueArray(fc.nat(PARTITIONS - 1)),
      }),
      fc.record({
        do: fc.constant('release' as const),
        who: fc.nat(2),
        which: fc.uniqueArray(fc.nat(PARTITIONS - 1)),
      }),
      fc.record({
        do: fc.constantFrom(
          'hold' as const,
          'deafen' as const,
          'free' as const,
          'enter' as const,
          'end' as const,
        ),
        who: fc.nat(2),
      }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(50, 240, 900, TTL_MS) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { join, clock, hub: supervisorDirectory } = arrange();
        let runs = 1;
        const shards = [0, 1, 2].map((index) => ({
          ...join(`shard-${index}`),
          held: new Set<number>(),
          claiming: new Set<object>(),
          losses: 0,
        }));
        for (const { enter } of shards) await enter();
        for (const next of steps) {
          if (next.do === 'wait') clock.advance(next.ms);
          else if (next.do === 'end') {
            shards[next.who]?.pair.close();
            runs += 1;
            const again = join(`shard-${next.who}`, runs);
            shards[next.who] = { ...again, held: new Set(), claiming: new Set(), losses: 0 };
            await again.enter();
          } else act(shards[next.who]!, next);
          for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
          const sure = shards.map((shard) => {
            if (shard.lost.length > shard.losses) shard.held.clear();
            shard.losses = shard.lost.length;
            return shard.directory.safeUntilMs() > clock.monotonic() ? [...shard.held] : [];
          });
          expect(new Set(sure.flat()).size).toBe(sure.flat().length);
          for (const [index, held] of sure.entries())
            for (const each of held)
              expect(supervisorDirectory.view.owners[each]?.shardId).toBe(`shard-${index}`);
        }
      }),
      { numRuns: 100 },
    );
  });

  type Acting = Omit<ReturnType<ReturnType<typeof arrange>['join']>, 'owners'> & {
    readonly held: Set<number>;
    readonly claiming: Set<object>;
  };
  type Act = { readonly do: string; readonly which?: readonly number[] };

  function act(
    { directory, pair, held, claiming, lost, enter }: Acting,
    { do: what, which = [] }: Act,
  ): void {
    const unheard = () => undefined;
    const losses = lost.length;
    if (what === 'hold' || what === 'free') pair.hold(what === 'hold');
    if (what === 'deafen') pair.hold(true, true);
    if (what === 'enter' && losses > 0) {
      held.clear();
      enter().catch(unheard);
    }
    if (what === 'release' && claiming.size === 0) {
      for (const each of which) held.delete(each);
      directory.release(which).catch(unheard);
    }
    if (what !== 'claim') return;
    const noted = (taken: readonly number[]) => {
      for (const each of lost.length === losses ? taken : []) held.add(each);
    };
    const claim = directory.claim(which);
    claiming.add(claim);
    claim.then(noted, unheard).then(() => claiming.delete(claim));
  }
});

describe('a channel', () => {
  test('carries objects only, in lanes, over a process, and closes once', () => {
    const hearers = new Set<(message: unknown) => void>();
    const sent: unknown[] = [];
    const ends: (() => void)[] = [];
    const port = {
      connected: true,
      send: (message: object) => sent.push(message) > 0,
      on: (_: string, run: (message: unknown) => void) => hearers.add(run),
      off: (_: string, run: (message: unknown) => void) => hearers.delete(run),
      once: (_: string, run: () => void) => ends.push(run),
    };
    const channel = processChannel(port as unknown as MessagePort);
    const heard: object[] = [];
    const stop = laneOf(channel, 'one').onMessage((message) => void heard.push(message));
    for (const message of [
      'text',
      null,
      { lane: 'two', message: { a: 1 } },
      { lane: 'one', message: { a: 2 } },
    ])
      for (const run of hearers) run(message);
    expect(heard).toEqual([{ a: 2 }]);
    stop();
    expect(hearers.size).toBe(0);
    laneOf(channel, 'one').send({ b: 1 });
    port.connected = false;
    channel.send({ b: 2 });
    expect(sent).toEqual([{ lane: 'one', message: { b: 1 } }]);
    const closings: string[] = [];
    channel.onClosed(() => void closings.push('closed'));
    expect(closings).toEqual(['closed']);
  });
});
