// Goal: an owner of an earlier epoch writes nothing more, whichever shard wins the race, and the next owner finds its
// records.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionFilter } from '../../engine/fanout/direct.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { CommandRecord, DeliveryPosition } from '../../storage/cluster/port.ts';
import type { Fence } from '../../storage/database/driver.ts';
import { StaleEpoch } from '../../storage/database/driver.ts';
import { storageOver } from '../../storage/open.ts';
import type { Commit, Writer } from '../../storage/ports.ts';
import { created, GUILD, id, message, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const fenced = (writer: Writer, given: Omit<Commit, 'done'>): Promise<Error | null> =>
  new Promise((resolve) => writer.commit({ ...given, done: resolve }));

const renaming = (userId: string, name: string): Commit['facts'] => [
  { type: 'userUpdated', user: user(userId, { username: name }) },
];

const recordAt = (n: number, more: Partial<CommandRecord> = {}): CommandRecord => ({
  n,
  atMs: 1_000 + n,
  commandKey: null,
  reply: null,
  dispatches: [],
  ...more,
});

describe.each(databases())('fences on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  let next = 0;
  beforeAll(async () => {
    fresh = await openFresh(kind);
    await seed(fresh.storage.writer);
  });
  afterAll(() => fresh.close());

  const nameOf = async (userId: string) => (await fresh.storage.users.get([id(userId)]))[0]?.username;
  /** Each test has partitions of its own. */
  const partition = () => ++next;
  async function taken(): Promise<[Fence, Fence]> {
    const partitions = [partition(), partition()] as const;
    const epochs = await fresh.storage.cluster.takeOver(partitions, 'a');
    const fenceOf = (each: number) => ({ partition: each, epoch: epochs.get(each) ?? 0 });
    return [fenceOf(partitions[0]), fenceOf(partitions[1])];
  }
  /** Another process over the same database. */
  const second = () => storageOver(fresh.driver);

  test('each takeover gives a partition its next epoch', async () => {
    const { cluster } = fresh.storage;
    const [a, b] = [partition(), partition()];
    expect(await cluster.takeOver([b, a], 'a')).toEqual(
      new Map([
        [a, 1],
        [b, 1],
      ]),
    );
    expect(await cluster.takeOver([b], 'b')).toEqual(new Map([[b, 2]]));
    const epochs = await cluster.epochs();
    expect([epochs.get(a), epochs.get(b)]).toEqual([1, 2]);
  });

  test('a commit under the current epoch is written, with the record that the next owner needs', async () => {
    const [fence] = await taken();
    const { writer, cluster } = fresh.storage;
    const record = recordAt(5, {
      commandKey: 'shard-0:1',
      reply: { ok: true, value: { name: 'fenced' } },
      dispatches: [{ t: 'USER_UPDATE', d: { id: '10' }, to: { kind: 'guild' }, n: 5 }],
    });
    expect(
      await fenced(writer, { ownerId: '10', facts: renaming('10', 'fenced'), fence, record }),
    ).toBeNull();
    expect(await nameOf('10')).toBe('fenced');
    expect(await cluster.records('10', 0, 10)).toEqual([record]);
  });

  test('a commit under an earlier epoch writes nothing, and the other commits of its group are written', async () => {
    const [gone, stays] = await taken();
    const { writer, cluster } = fresh.storage;
    await cluster.takeOver([gone.partition], 'b');
    const record = recordAt(1);
    const settled = await Promise.all([
      fenced(writer, { ownerId: '11', facts: renaming('11', 'first'), fence: stays }),
      fenced(writer, { ownerId: '12', facts: renaming('12', 'stale'), fence: gone, record }),
      fenced(writer, { ownerId: '13', facts: renaming('13', 'third'), fence: stays }),
      fenced(writer, { ownerId: '14', facts: renaming('14', 'unfenced') }),
      fenced(writer, { ownerId: '15', facts: renaming('15', 'stale'), fence: gone }),
    ]);
    expect(settled.map((fault) => fault && (fault as StaleEpoch).partition)).toEqual([
      ...[null, gone?.partition, null, null, gone?.partition],
    ]);
    expect(settled[1]).toBeInstanceOf(StaleEpoch);
    expect(await Promise.all(['11', '12', '13', '14', '15'].map(nameOf))).toEqual([
      ...['first', 'user12', 'third', 'unfenced', 'user15'],
    ]);
    expect(await cluster.records('12', 0, 10)).toEqual([]);
  });

  test('answers keep their order, also around rejected commits', async () => {
    const [gone, stays] = await taken();
    await fresh.storage.cluster.takeOver([gone.partition], 'b');
    const order: number[] = [];
    for (let n = 0; n < 30; n++)
      fresh.storage.writer.commit({
        ownerId: n % 3 === 0 ? '12' : '13',
        facts: renaming(n % 3 === 0 ? '12' : '13', `name${n}`),
        fence: n % 3 === 0 ? gone : stays,
        done: () => order.push(n),
      });
    await fresh.storage.writer.flush();
    expect(order).toEqual(Array.from({ length: 30 }, (_, n) => n));
    expect(await nameOf('13')).toBe('name29');
  });

  test('a faulty commit and a stale commit fail without an effect on their group', async () => {
    const [gone, stays] = await taken();
    await fresh.storage.cluster.takeOver([gone.partition], 'b');
    const { writer } = fresh.storage;
    const settled = await Promise.all([
      fenced(writer, { ownerId: '11', facts: renaming('11', 'well'), fence: stays }),
      fenced(writer, { ownerId: GUILD, facts: [created(message('nonsense', '1'))], fence: stays }),
      fenced(writer, { ownerId: '12', facts: renaming('12', 'stale'), fence: gone }),
    ]);
    expect(settled.map((fault) => fault?.constructor.name ?? null)).toEqual([
      ...[null, 'StorageFault', 'StaleEpoch'],
    ]);
    expect(await nameOf('11')).toBe('well');
  });

  test('a partition that was never taken over rejects every epoch', async () => {
    const fence = { partition: partition(), epoch: 1 };
    const fault = await fenced(fresh.storage.writer, { ownerId: '11', facts: renaming('11', 'x'), fence });
    expect(fault).toBeInstanceOf(StaleEpoch);
  });

  test('the newest records are read in order, up to a limit and an age', async () => {
    const [fence] = await taken();
    const { writer, cluster } = fresh.storage;
    // Numbers beyond 2^32, as epochs make them, and text that `jsonb` cannot hold unchanged.
    const base = 7 * 2 ** 32;
    for (const n of [3, 1, 2])
      await fenced(writer, {
        ownerId: '777',
        facts: [],
        fence,
        record: { ...recordAt(base + n), atMs: n * 100, reply: 'a\u0000b' },
      });
    const numbers = async (sinceMs: number, limit: number) =>
      (await cluster.records('777', sinceMs, limit)).map(({ n }) => n - base);
    expect(await numbers(0, 10)).toEqual([1, 2, 3]);
    expect(await numbers(0, 2)).toEqual([2, 3]);
    expect(await numbers(200, 10)).toEqual([2, 3]);
    expect((await cluster.records('777', 0, 1))[0]?.reply).toBe('a\u0000b');
    await cluster.pruneRecords(300);
    expect(await numbers(0, 10)).toEqual([3]);
  });

  test('direct notifications are found by user, and their records by position', async () => {
    const [fence] = await taken();
    const { writer, cluster } = fresh.storage;
    const base = fence.epoch * 2 ** 32;
    const telling = (n: number, userIds: string[], filter: SessionFilter | null) =>
      recordAt(base + n, {
        dispatches: [
          {
            ...{ t: 'MESSAGE_CREATE', d: { content: `${n}` }, n: base + n, ...(filter && { filter }) },
            to: { kind: 'users', userIds: userIds as UserId[] },
          },
        ],
      });
    const filter: SessionFilter = { own: true, applications: 'all' };
    const records = [telling(1, ['31', '32'], filter), telling(2, ['32'], filter), telling(3, ['31'], null)];
    for (const record of records)
      expect(await fenced(writer, { ownerId: '30', facts: [], fence, record })).toBeNull();
    const at = (userId: string, index: number) => {
      const { n, atMs } = records[index] as CommandRecord;
      return { userId, ownerId: '30', n, atMs };
    };
    const to = async (userIds: string[], sinceMs: number, limit = 10) =>
      (await cluster.deliveriesTo(userIds as UserId[], sinceMs, limit)).sort(
        (a, b) => a.n - b.n || Number(a.userId) - Number(b.userId),
      );
    expect(await to(['31', '32', '33'], 0)).toEqual([at('31', 0), at('32', 0), at('32', 1)]);
    expect(await to(['32'], base + 1_002)).toEqual([at('32', 1)]);
    expect(await to(['31', '32'], 0, 1)).toEqual([at('32', 1)]);
    expect(await cluster.recordsAt([at('32', 1), { ownerId: '30', n: base + 9 }])).toEqual([
      { ...records[1], ownerId: '30' },
    ]);
    await cluster.pruneRecords(base + 1_002);
    expect(await to(['31', '32'], 0)).toEqual([at('32', 1)]);
    const ofPartition = { ...telling(4, ['33'], { ...filter, sessionId: 's' }), streamOwnerId: '7' };
    expect(await fenced(writer, { ownerId: '30', facts: [], fence, record: ofPartition })).toBeNull();
    const [position] = await to(['33'], 0);
    expect(position).toMatchObject({ userId: '33', ownerId: '7', n: base + 4 });
    expect(await cluster.recordsAt([position as DeliveryPosition])).toMatchObject([
      { ownerId: '7', dispatches: [{ filter: { ...filter, sessionId: 's' } }] },
    ]);
  });

  test('records are in a permanent table, which survives a crash of the database', async () => {
    const [table] = await fresh.driver.query<{ relpersistence: string }>(
      "SELECT relpersistence::text FROM pg_class WHERE relname = 'command_records'",
    );
    expect(table?.relpersistence).toBe('p');
  });

  test('a snapshot is kept until the next one, and is fenced like a commit', async () => {
    const [fence, other] = await taken();
    const { cluster } = fresh.storage;
    const kept = (ownerId: string, under: Fence, data: object) => ({
      ownerId,
      fence: under,
      atMs: 5_000,
      data,
    });
    await cluster.keepSnapshots([kept('901', fence, { a: 1 }), kept('902', other, { b: 1 })]);
    await cluster.keepSnapshots([kept('901', fence, { a: 2 })]);
    expect(await cluster.snapshot('901')).toEqual({ atMs: 5_000, data: { a: 2 } });
    await cluster.takeOver([fence.partition], 'b');
    const refused = cluster.keepSnapshots([kept('902', other, { b: 2 }), kept('901', fence, { a: 3 })]);
    await expect(refused).rejects.toMatchObject({ partition: fence?.partition });
    expect([await cluster.snapshot('901'), await cluster.snapshot('902')]).toEqual([
      { atMs: 5_000, data: { a: 2 } },
      { atMs: 5_000, data: { b: 1 } },
    ]);
    await cluster.dropSnapshots(['901', '903']);
    expect(await cluster.snapshot('901')).toBeNull();
    await cluster.pruneRecords(6_000);
    expect(await cluster.snapshot('902')).toBeNull();
  });

  test('two owners in any interleaving write nothing under an earlier epoch once the next one has begun', async () => {
    const step = fc.record({
      owner: fc.constantFrom(0, 1),
      act: fc.constantFrom('take', 'write', 'write', 'wait'),
    });
    const storages = [second(), second()];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
        const at = partition();
        const ownerId = String(100_000 + at);
        const epochs = [0, 0];
        const under: Promise<unknown>[] = [];
        /** `begun`: the epoch that was the last one answered when the commit was handed in. */
        const written: { n: number; epoch: number; begun: number; fault: Promise<Error | null> }[] = [];
        let n = 0;
        for (const { owner, act } of steps) {
          const { cluster, writer } = storages[owner]!;
          if (act === 'take')
            under.push(
              cluster.takeOver([at], String(owner)).then((taken) => {
                epochs[owner] = taken.get(at) ?? 0;
              }),
            );
          else if (act === 'wait') await Promise.all(under);
          else {
            n += 1;
            const epoch = epochs[owner]!;
            const fence = { partition: at, epoch };
            // `atMs` holds the epoch: the row shows the epoch of its write.
            const fault = fenced(writer, {
              ownerId,
              facts: [],
              fence,
              record: { ...recordAt(n), atMs: epoch },
            });
            written.push({ n, epoch, begun: Math.max(...epochs), fault });
            under.push(fault);
          }
        }
        await Promise.all(under);
        const rows = await storages[0]!.cluster.records(ownerId, 0, 100);
        const accepted: number[] = [];
        for (const { n: which, epoch, begun, fault } of written)
          if ((await fault) === null) {
            accepted.push(which);
            expect(epoch).toBe(begun);
          }
        expect(rows.map((row) => row.n)).toEqual(accepted.toSorted((a, b) => a - b));
        // A commit under the epoch before is rejected after the takeover was answered.
        const last = Math.max(...epochs);
        const late = await fenced(storages[0]!.writer, {
          ownerId,
          facts: [],
          fence: { partition: at, epoch: last - 1 },
          record: recordAt(1_000),
        });
        expect(late).toBeInstanceOf(StaleEpoch);
      }),
      { numRuns: kind.name === 'PGlite' ? 15 : 40 },
    );
  });

  if (kind.name === 'PostgreSQL') {
    /** Connections that wait for a lock. */
    const waiting = async () =>
      (
        await fresh.driver.query(
          "SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
      ).length;

    test('a takeover waits for the commit in progress, which is kept; the next commit under that epoch is rejected', async () => {
      const [fence] = await taken();
      const { writer, cluster } = fresh.storage;
      let taken2: Promise<unknown> = Promise.resolve();
      let over = false;
      const first = await fresh.driver.transaction(async (sql) => {
        await sql.query('LOCK TABLE users');
        // The commit holds its partition, and waits for the table in the middle of its transaction.
        const under = fenced(writer, { ownerId: '11', facts: renaming('11', 'under way'), fence });
        while (
          (await fresh.driver.query("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'"))
            .length === 0
        );
        taken2 = cluster.takeOver([fence.partition], 'b').then(() => {
          over = true;
        });
        while ((await waiting()) === 0);
        expect(over).toBe(false);
        return { under };
      });
      expect(await first.under).toBeNull();
      await taken2;
      expect(await nameOf('11')).toBe('under way');
      const late = await fenced(writer, { ownerId: '11', facts: renaming('11', 'late'), fence });
      expect(late).toBeInstanceOf(StaleEpoch);
      expect(await nameOf('11')).toBe('under way');
    });

    test('two takeovers of the same partitions in opposite orders both complete', async () => {
      const partitions = Array.from({ length: 200 }, partition);
      const { cluster } = fresh.storage;
      const results = await Promise.all([
        cluster.takeOver(partitions, 'a'),
        cluster.takeOver(partitions.toReversed(), 'b'),
      ]);
      for (const each of partitions)
        expect(results.map((epochs) => epochs.get(each)).toSorted()).toEqual([1, 2]);
    });
  }
});
