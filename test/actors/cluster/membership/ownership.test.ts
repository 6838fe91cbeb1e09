// Goal: whatever the directory, the database and the clock do, at most one shard serves a partition; work is finished
// or abandoned before a handover, and lost partitions are claimed again.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOwnedHere } from '../../../../actors/cluster/delivery/ownershard.ts';
import { SoloDirectory } from '../../../../transports/cluster/directory.solo.ts';
import { type Cell, cluster, HANDOVER_MS, PARTITIONS, TTL_MS } from './arrange.ts';

describe('a shard', () => {
  it('owns all partitions when it is alone, under epochs from the database', async () => {
    const { started, serving, authority } = cluster();
    const [a] = await started('a');
    expect(a.ownership.state).toBe('serving');
    expect(serving().every(([id]) => id === 'a')).toBe(true);
    expect(a.ownership.fenceOf(a.idOf(3))).toEqual({ partition: 3, epoch: 1 });
    expect(a.ownership.ownerOf(a.idOf(3))).toEqual({ shardId: 'a', instance: 'a#1', epoch: 1 });
    expect(authority.owners.every((owner) => owner?.epoch === 1)).toBe(true);
    expect(a.ownership.lagMs).toBe(0);
  });

  it('owns nothing before it enters and after it has left', async () => {
    const { shard, pass } = cluster();
    const a = shard('a');
    const owns = [a.ownership.owns(a.idOf(0))];
    const serving = a.ownership.start();
    await pass(200);
    await serving;
    owns.push(a.ownership.owns(a.idOf(0)));
    await a.ownership.close();
    owns.push(a.ownership.owns(a.idOf(0)));
    expect(owns).toEqual([false, true, false]);
  });

  it('is in its new state when listeners are notified that it serves, suspends and serves again', async () => {
    const { shard, pass, authority } = cluster();
    const a = shard('a');
    const seen: string[] = [];
    a.ownership.onChange(() => {
      const { state } = a.ownership;
      if (state !== seen.at(-1)) seen.push(state);
    });
    const serving = a.ownership.start();
    await pass(200);
    await serving;
    expect(seen).toEqual(['joining', 'serving']);
    authority.cutOff('a#1');
    await pass(TTL_MS - 450);
    expect(seen).toEqual(['joining', 'serving', 'suspended']);
    authority.renew('a#1');
    authority.heal('a#1');
    await pass(TTL_MS / 4);
    expect(seen).toEqual(['joining', 'serving', 'suspended', 'serving']);
  });

  it('reports a lease that lapsed while the process was suspended to each caller, and reading changes nothing', async () => {
    const { started, pass, clock } = cluster();
    const [a] = await started('a');
    const notified = a.changes.length;
    clock.standStill(TTL_MS - 100);
    expect([a.ownership.state, a.ownership.knowsMembers, a.served().length]).toEqual(['suspended', false, 0]);
    await pass();
    expect(a.changes).toHaveLength(notified);
    // Timers run again: the renewal is late, and still in time for the directory.
    await pass(50);
    expect([a.ownership.state, a.served().length]).toEqual(['serving', PARTITIONS]);
    expect(a.changes.length).toBeGreaterThan(notified);
  });

  it('sets no timer while its lease cannot expire and its partitions are served', async () => {
    const { shard, pass, clock } = cluster();
    const a = shard('a', 1, () => new SoloDirectory(PARTITIONS));
    const serving = a.ownership.start();
    await pass();
    await serving;
    expect([a.ownership.state, a.served().length, clock.timers]).toEqual(['serving', PARTITIONS, 0]);
  });

  it('hands partitions over to a joining shard after its own work is done', async () => {
    const { started, shard, serving, pass, authority } = cluster();
    const [a] = await started('a');
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    a.handing.until = () => finished;
    const b = shard('b');
    const joined = b.ownership.start();
    await pass(100);
    const moving = serving().filter((owners) => owners.length === 0).length;
    expect(moving).toBeGreaterThan(0);
    expect(b.served()).toEqual([]);
    expect(b.ownership.lagMs).toBeGreaterThan(0);
    expect(authority.owners.every((owner) => owner?.instance === 'a#1')).toBe(true);
    finish();
    await pass(200);
    await joined;
    expect(a.log).toContain(`hand over ${moving}`);
    expect(serving().every((owners) => owners.length === 1)).toBe(true);
    expect(b.served()).toHaveLength(moving);
    // Everybody knows who has them now, and under which epoch.
    const [taken] = b.served() as [number];
    expect(a.ownership.ownerOf(a.idOf(taken))).toEqual({ shardId: 'b', instance: 'b#1', epoch: 2 });
    expect(a.ownership.fenceOf(a.idOf(taken))).toEqual({ partition: taken, epoch: 2 });
    expect(a.changes.some(({ came }) => came.some(({ id }) => id === 'b'))).toBe(true);
    expect(b.ownership.lagMs).toBe(0);
  });

  it('takes over the partitions of a shard that left', async () => {
    const { started, authority, pass, serving } = cluster();
    const [a, b] = await started('a', 'b');
    const theirs = b?.served() as number[];
    await b?.ownership.close();
    authority.end('b#1', null);
    await pass(100);
    expect(serving().every((owners) => owners.join() === 'a')).toBe(true);
    expect(a.changes.flatMap(({ gone }) => gone).map(({ id }) => id)).toEqual(['b']);
    expect(a.changes.flatMap(({ moved }) => moved).filter((p) => theirs.includes(p)).length).toBeGreaterThan(
      0,
    );
  });

  it('is suspended when its lease is not safe, to the millisecond, and goes on when it is renewed in time', async () => {
    const { started, authority, pass, clock } = cluster();
    const [a] = await started('a');
    authority.cutOff('a#1');
    await pass(TTL_MS - 300 - 2_600);
    expect(a.ownership.state).toBe('serving');
    // A process that is stopped runs no timer: it asks the clock.
    let untilMs = 0;
    while (a.ownership.owns(a.idOf(0)) && untilMs < TTL_MS) {
      clock.advance(1);
      untilMs += 1;
    }
    expect(authority.members.has('a#1')).toBe(true);
    expect(a.served()).toEqual([]);
    expect(a.ownership.fenceOf(a.idOf(0))).toBeNull();
    // Nobody else owns it yet: what waits for the owner, or counts under its epoch, must not be dropped.
    expect(a.ownership.ownerOf(a.idOf(0))).toEqual({ shardId: 'a', instance: 'a#1', epoch: 1 });
    expect(isOwnedHere(a.ownership, a.idOf(0))).toBe(true);
    expect(a.ownership.state).toBe('suspended');
    authority.heal('a#1');
    authority.renew('a#1');
    await pass(2_600);
    expect(a.ownership.state).toBe('serving');
    expect(a.served()).toHaveLength(PARTITIONS);
    expect(a.log.filter((line) => line.startsWith('abandon'))).toEqual([]);
    expect(a.changes.at(-1)).toEqual({ moved: [], gone: [], came: [] });
  });

  it('runs the recovery step before each return to the cluster, but not before the first start', async () => {
    const { started, authority, pass } = cluster();
    const [a] = await started('a', 'b');
    expect(a.log.filter((line) => line.startsWith('returning'))).toEqual([]);
    for (let times = 1; times <= 2; times += 1) {
      authority.end('a#1', 'The lease is over.');
      await pass(5_000);
      expect(a.ownership.state).toBe('serving');
      expect(a.log.filter((line) => line.startsWith('returning'))).toEqual(Array(times).fill('returning'));
    }
  });

  it('writes nothing and knows no members from the end of its membership until it is a member again', async () => {
    const { started, authority, pass, ids } = cluster();
    const [a] = await started('a', 'b');
    let enter = (): void => undefined;
    a.returning.until = new Promise<void>((resolve) => (enter = resolve));
    const isFenced = (id: string) => a.ownership.fenceOf(id) !== null;
    const known = () => [[...ids.values()].some(isFenced), a.ownership.knowsMembers];
    expect(known()).toEqual([true, true]);
    authority.end('a#1', 'The lease is over.');
    await pass(500);
    expect(known()).toEqual([false, false]);
    enter();
    await pass(5_000);
    expect(known()).toEqual([true, true]);
  });

  it('releases every partition when its membership ends, and joins again', async () => {
    const { started, authority, pass, epochs, clock } = cluster();
    const [a] = await started('a');
    authority.end('a#1', 'The lease is over.');
    expect(a.served()).toEqual([]);
    expect(a.log).toContain(`abandon ${PARTITIONS}`);
    await pass(500);
    expect(a.ownership.state).toBe('serving');
    expect(a.served()).toHaveLength(PARTITIONS);
    expect(epochs.now.get(0)).toBe(2);
    expect(clock.monotonic()).toBeLessThan(2_000);
  });

  it('claims a partition that the database refused again under a new epoch', async () => {
    const { started, pass, epochs } = cluster();
    const [a] = await started('a');
    epochs.now.set(5, 7);
    a.ownership.stale(5, 6);
    expect(a.served()).toContain(5);
    a.ownership.stale(5);
    expect(a.served()).not.toContain(5);
    expect(a.log).toContain('abandon 1');
    await pass(50);
    expect(a.ownership.fenceOf(a.idOf(5))).toEqual({ partition: 5, epoch: 8 });
    expect(a.ownership.view.owners[5]?.epoch).toBe(8);
  });

  it('waits for the database at its start, and keeps its claims meanwhile', async () => {
    const { shard, epochs, pass } = cluster();
    epochs.down = true;
    const a = shard('a');
    const serving = a.ownership.start();
    await pass(3_000);
    expect([a.ownership.state, a.served().length]).toEqual(['joining', 0]);
    expect(a.ownership.lagMs).toBeGreaterThan(2_000);
    epochs.down = false;
    await pass(5_000);
    await serving;
    expect(a.served()).toHaveLength(PARTITIONS);
  });

  it('is not held up for ever by one take-over that hangs', async () => {
    const { shard, epochs, pass } = cluster();
    const takeOver = epochs.takeOver;
    epochs.takeOver = () => new Promise(() => undefined);
    const a = shard('a');
    const serving = a.ownership.start();
    await pass(500);
    epochs.takeOver = takeOver;
    await pass(HANDOVER_MS + 500);
    await serving;
    expect(a.served()).toHaveLength(PARTITIONS);
  });

  it('serves its partitions at once also when the views that follow its claims are late', async () => {
    const { shard, pass, authority } = cluster();
    const changed: (() => void)[] = [];
    const a = shard('a', 1, (directory) => ({
      ...directory,
      async enter(self, listener) {
        let views = 0;
        await directory.enter(self, {
          ...listener,
          changed(view) {
            views += 1;
            if (views > 1) changed.push(() => listener.changed(view));
            else listener.changed(view);
          },
        });
      },
    }));
    const serving = a.ownership.start();
    await pass(0);
    await serving;
    expect([a.served().length, authority.owners.every((owner) => owner?.epoch === 1)]).toEqual([
      PARTITIONS,
      true,
    ]);
    expect(changed.length).toBeGreaterThan(0);
    for (const late of changed) late();
    await pass(0);
    expect(a.served()).toHaveLength(PARTITIONS);
  });

  it('publishes ownership again that the directory did not receive', async () => {
    let fails = 2;
    const { shard, pass, authority } = cluster();
    const a = shard('a', 1, (directory) => ({
      ...directory,
      publish: async (epochs) => {
        if (fails-- > 0) throw new Error('The directory does not answer.');
        await directory.publish(epochs);
      },
    }));
    void a.ownership.start();
    await pass(2_000);
    expect(authority.owners.every((owner) => owner?.epoch === 1)).toBe(true);
    expect(a.ownership.state).toBe('serving');
  });

  it('does not know which shards have ended while it drains without a safe lease', async () => {
    const { started, pass, authority } = cluster();
    const [a] = await started('a', 'b');
    void a.ownership.drain();
    await pass(2_000);
    expect([a.ownership.state, a.ownership.knowsMembers]).toEqual(['draining', true]);
    authority.cutOff('a#1');
    await pass(TTL_MS);
    expect([a.ownership.state, a.ownership.knowsMembers]).toEqual(['draining', false]);
  });

  it('is emptied by a drain, which waits until other shards serve its partitions', async () => {
    const { started, pass, serving, authority, epochs } = cluster();
    const [a, b] = await started('a', 'b');
    epochs.down = true;
    let drained = false;
    void a.ownership.drain().then(() => {
      drained = true;
    });
    await pass(300);
    expect([drained, a.served().length]).toEqual([false, 0]);
    epochs.down = false;
    await pass(2_000);
    expect(drained).toBe(true);
    expect(a.ownership.state).toBe('draining');
    expect(serving().every((owners) => owners.join() === 'b')).toBe(true);
    // It is a member still: sessions that live there are found.
    expect(b?.ownership.view.shards.map(({ id, draining }) => [id, draining])).toEqual([
      ['a', true],
      ['b', false],
    ]);
    await a.ownership.close();
    expect([a.ownership.state, authority.members.has('a#1')]).toEqual(['left', false]);
  });

  it('is drained as soon as other shards serve its partitions', async () => {
    const { started, pass, serving } = cluster();
    const [a] = await started('a', 'b');
    let drained = false;
    void a.ownership.drain().then(() => {
      drained = true;
    });
    await pass(HANDOVER_MS / 2);
    expect([drained, serving().every((owners) => owners.join() === 'b')]).toEqual([true, true]);
  });

  it('is drained after the handover timeout when the other shards cannot take its partitions over', async () => {
    const { started, pass, serving, epochs } = cluster();
    const [a] = await started('a', 'b');
    epochs.down = true;
    let drained = false;
    void a.ownership.drain().then(() => {
      drained = true;
    });
    await pass(HANDOVER_MS - 100);
    expect(drained).toBe(false);
    await pass(300);
    expect([drained, serving().some((owners) => owners.length === 0)]).toEqual([true, true]);
  });

  it('drains also when no other shard can take over', async () => {
    const { started, pass, authority } = cluster();
    const [a, b] = await started('a', 'b');
    const drained = Promise.all([a.ownership.drain(), b?.ownership.drain()]);
    await pass(2_000);
    await drained;
    expect(authority.owners.every((owner) => owner === null)).toBe(true);
  });

  it('serves at once without partitions when none is planned for it', async () => {
    const { shard, pass } = cluster();
    const shards = Array.from({ length: PARTITIONS + 1 }, (_, at) => shard(`s${at}`));
    const serving = Promise.all(shards.map(({ ownership }) => ownership.start()));
    await pass(HANDOVER_MS);
    expect(shards.map(({ ownership }) => ownership.state)).toEqual(shards.map(() => 'serving'));
    expect(shards.some((each) => each.served().length === 0)).toBe(true);
    await serving;
  });

  it('serves without partitions when their owners do not hand them over', async () => {
    const { started, shard, pass } = cluster();
    const [a] = await started('a');
    a.handing.until = () => new Promise(() => undefined);
    const b = shard('b');
    const joined = b.ownership.start();
    await pass(HANDOVER_MS * 2 - 100);
    expect(b.ownership.state).toBe('joining');
    await pass(500);
    await joined;
    expect([b.ownership.state, b.served().length]).toEqual(['serving', 0]);
  });

  it('fails its start when the directory rejects it for good', async () => {
    const { shard, pass } = cluster();
    const a = shard('a', 1, (directory) => ({
      ...directory,
      enter: () => Promise.reject(new RangeError('Another count of partitions.')),
    }));
    const started = expect(a.ownership.start()).rejects.toThrow('Another count');
    await pass(100);
    await started;
    expect(a.ownership.state).toBe('left');
  });

  it('reports each failure to enter the cluster and to take partitions over, and retries', async () => {
    const { shard, epochs, pass } = cluster();
    let isUnreachable = true;
    const a = shard('a', 1, (directory) => ({
      ...directory,
      enter: (self, listener) =>
        isUnreachable ? Promise.reject(new Error('No directory.')) : directory.enter(self, listener),
    }));
    const reported = () => a.log.filter((line) => !line.startsWith('worker'));
    const serving = a.ownership.start();
    await pass(0);
    expect(reported()).toEqual(['entering the cluster: No directory.']);
    isUnreachable = false;
    epochs.down = true;
    await pass(200);
    expect(reported().slice(0, 2)).toEqual([
      'entering the cluster: No directory.',
      'handover: The database is gone.',
    ]);
    epochs.down = false;
    await pass(1_000);
    await serving;
    expect(a.served()).toHaveLength(PARTITIONS);
  });

  it('rejects the start when it is closed before it serves', async () => {
    const { shard, epochs, pass } = cluster();
    epochs.down = true;
    const a = shard('a');
    const started = expect(a.ownership.start()).rejects.toThrow('left');
    await pass(100);
    await a.ownership.close();
    await started;
  });
});

describe('many shards', () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constantFrom('come', 'kill', 'drain', 'cut', 'heal', 'expire', 'stale'),
      at: fc.nat(4),
    }),
    fc.record({ do: fc.constant('pass'), at: fc.integer({ min: 10, max: 6_000 }) }),
  );

  it('never serve one partition twice, and serve all in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { authority, shard, pass, serving, all } = cluster();
        const living = new Map<string, Cell>();
        let runs = 0;
        const once = () => {
          const owners = serving();
          expect(owners.every((ids) => ids.length <= 1)).toBe(true);
        };
        const come = (id: string) => {
          runs += 1;
          const fresh = shard(id, runs);
          living.set(id, fresh);
          void fresh.ownership.start().catch(() => undefined);
        };
        come('s0');
        for (const { do: what, at } of steps) {
          const id = `s${at}`;
          const one = living.get(id);
          if (what === 'pass') await pass(at);
          else if (what === 'come' && !one) come(id);
          else if (what === 'kill' && one) {
            // A process that is gone serves nothing, though the directory does not know it yet.
            living.delete(id);
            all.splice(all.indexOf(one), 1);
            authority.cutOff(one.instance);
          } else if (what === 'drain' && one) {
            living.delete(id);
            void one.ownership.drain().then(() => one.ownership.close());
          } else if (what === 'cut' && one) authority.cutOff(one.instance);
          else if (what === 'heal' && one) authority.heal(one.instance);
          // A lease lasts as long as its holder was promised, unless the directory can tell it otherwise.
          else if (what === 'expire' && one && !authority.cut.has(one.instance))
            authority.end(one.instance, 'The lease is over.');
          else if (what === 'stale' && one) one.ownership.stale(at);
          once();
          await pass(0);
          once();
        }
        for (const one of living.values()) authority.heal(one.instance);
        come('last');
        await pass(TTL_MS * 3, 200);
        once();
        expect(serving().map((ids) => ids.length)).toEqual(new Array(PARTITIONS).fill(1));
      }),
      { numRuns: 60 },
    );
  });
});
