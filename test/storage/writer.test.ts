// Goal: group commit answers every commit once, in order, and a failing commit affects no other owner.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Driver } from '../../storage/database/driver.ts';
import type { Commit } from '../../storage/ports.ts';
import { openWriter, type WriterOptions } from '../../storage/writer.ts';
import { user } from '../support/guild.ts';

/** An error as the database answers it. */
const refused = () => Object.assign(new Error('duplicate key'), { severity: 'ERROR', code: '23505' });
const lost = () => Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' });

interface Group {
  /** Usernames that the group writes; tokens as `#id`. */
  readonly rows: string[];
  readonly statements: number;
  settle(error?: Error): void;
}

/** The first statement of a transaction over a server has its number, and no rows. */
const isRows = (text: string): boolean => text.startsWith('[');

/** A database that holds every group until the test settles it; in `automatic` mode `judge` settles it at once. */
function heldDriver(judge?: (rows: readonly string[]) => Error | null) {
  const groups: Group[] = [];
  const answer = async (statements: readonly string[]): Promise<void> => {
    const rows = statements
      .filter(isRows)
      .flatMap((text) =>
        (JSON.parse(text) as { id: string; data?: { username: string } }[]).map(
          (row) => row.data?.username ?? `#${row.id}`,
        ),
      );
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => (error ? reject(error) : resolve());
      groups.push({ rows, statements: statements.length, settle });
      if (judge) settle(judge(rows) ?? undefined);
    });
  };
  const driver: Driver = {
    kind: 'pglite',
    query: async () => [],
    script: async () => {},
    batch: async (statements) => {
      await answer(statements.map(({ values }) => values[0] ?? ''));
      return statements.map(() => []);
    },
    transaction: () => Promise.reject(new Error('A commit is a batch.')),
    copy: async () => null,
    close: async () => {},
  };
  return { driver, groups };
}

function arrange(options: WriterOptions = {}, judge?: (rows: readonly string[]) => Error | null) {
  const { driver, groups } = heldDriver(judge);
  const writer = openWriter(driver, options);
  const answers: string[] = [];
  const commit = (ownerId: string, name: string, then?: () => void, facts?: Commit['facts']): void =>
    writer.commit({
      ownerId,
      facts: facts ?? [{ type: 'userCreated', user: { ...user(ownerId), username: name, bot: true } }],
      done: (fault) => {
        answers.push(fault ? `${name}: ${fault.message}` : name);
        then?.();
      },
    });
  return { writer, groups, answers, commit };
}

/** Lets everything run that needs no further answer of the database. */
const settleAll = () => new Promise((resolve) => setImmediate(resolve));

const token = (tokenId: string): Commit['facts'] => [
  { type: 'tokenIssued', token: { id: tokenId, userId: user('1').id as never, kind: 'user', hash: '' } },
];

describe('group commit', () => {
  test('commits that arrive during a group are written in the next one, as one statement', async () => {
    const { writer, groups, answers, commit } = arrange();
    commit('1', 'a');
    await settleAll();
    commit('2', 'b');
    commit('3', 'c');
    expect(writer.depth).toBe(3);
    groups[0]?.settle();
    await settleAll();
    expect(answers).toEqual(['a']);
    expect(groups.map(({ rows, statements }) => [statements, ...rows])).toEqual([
      [1, 'a'],
      [1, 'b', 'c'],
    ]);
    groups[1]?.settle();
    await writer.flush();
    expect(answers).toEqual(['a', 'b', 'c']);
    expect(writer.depth).toBe(0);
  });

  test('merges only adjacent statements, so that their order is kept', async () => {
    const { writer, groups, commit } = arrange({}, () => null);
    commit('1', 'a');
    commit('1', '#9', undefined, token('9'));
    commit('1', 'b');
    await writer.flush();
    expect(groups.map(({ rows, statements }) => [statements, ...rows])).toEqual([[3, 'a', '#9', 'b']]);
  });

  test('statements of independent tables are written after the others, in the order of their ranks', async () => {
    const { writer, groups, commit } = arrange({}, () => null);
    const change = (id: string): Commit['facts'] => [{ type: 'interactionChanged', id, change: {} as never }];
    const begin = (id: string): Commit['facts'] => [
      { type: 'interactionWritten', interaction: { id } as never },
    ];
    commit('1', 'x', undefined, change('7'));
    commit('1', 'a');
    commit('1', 'y', undefined, begin('8'));
    commit('1', 'b');
    commit('1', 'z', undefined, change('8'));
    await writer.flush();
    expect(groups.map(({ rows, statements }) => [statements, ...rows])).toEqual([
      [3, 'a', 'b', '#8', '#7', '#8'],
    ]);
  });

  test('a group is bounded by commits and by characters, but a larger commit is still written', async () => {
    const { writer, groups, commit } = arrange({ groupCommitsMax: 2, groupCharsMax: 600 }, () => null);
    for (const name of ['a', 'b', 'c', 'x'.repeat(1000), 'd']) commit(name.slice(0, 1), name);
    await writer.flush();
    expect(groups.map(({ rows }) => rows.map((name) => name[0]).join(''))).toEqual(['ab', 'c', 'x', 'd']);
  });

  test('ephemeral facts are answered without the database', async () => {
    const { writer, groups, answers, commit } = arrange();
    commit('1', 'typing', undefined, [{ type: 'typingStarted' } as never]);
    await writer.flush();
    expect([groups, answers]).toEqual([[], ['typing']]);
  });

  test('a poisoned commit faults itself and later commits of its owner, and no other owner', async () => {
    const { writer, answers, commit } = arrange({}, (rows) => (rows.includes('poison') ? refused() : null));
    commit('1', 'a');
    commit('2', 'poison');
    commit('3', 'b');
    commit('2', 'after');
    commit('1', 'c');
    await writer.flush();
    const fault = 'The database refused a commit: duplicate key';
    expect(answers).toEqual(['a', `poison: ${fault}`, 'b', `after: ${fault}`, 'c']);
  });

  test('a partition that is taken over between a group and its commits one by one is known to be another’s', async () => {
    const groups: number[] = [];
    const { driver } = heldDriver(() => null);
    const current = [1, 1];
    const writer = openWriter({
      ...driver,
      query: async <Row>() =>
        current.map((epoch, partition) => ({ partition, epoch: String(epoch) })) as Row[],
      async batch([fence]) {
        const [partitions = [], epochs = []] = (fence?.values ?? []).map((list) =>
          list.slice(1, -1).split(',').map(Number),
        );
        groups.push(partitions.length);
        if (groups.length === 1) {
          current[0] = 2;
          throw refused();
        }
        if (partitions.some((partition, at) => current[partition] !== epochs[at]))
          throw Object.assign(new Error('stale'), { severity: 'ERROR', code: 'GH001' });
        return [];
      },
    });
    const faults: (Error | null)[] = [];
    for (const [partition, ownerId] of [
      [0, '1'],
      [1, '2'],
      [0, '3'],
    ] as const)
      writer.commit({
        ownerId,
        facts: [{ type: 'userCreated', user: { ...user(ownerId), bot: true } }],
        fence: { partition, epoch: 1 },
        done: (fault) => faults.push(fault),
      });
    await writer.flush();
    expect(faults.map((fault) => fault?.name ?? null)).toEqual(['StaleEpoch', null, 'StaleEpoch']);
    expect(groups).toEqual([2, 1, 1]);
  });

  test('an owner may commit again only after it received its fault', async () => {
    const { writer, groups, answers, commit } = arrange({}, (rows) =>
      rows.includes('poison') ? refused() : null,
    );
    commit('1', 'poison', () => commit('1', 'early'));
    commit('1', 'behind', () => commit('1', 'retried'));
    await writer.flush();
    await writer.flush();
    expect(answers.map((answer) => answer.split(':')[0])).toEqual(['poison', 'behind', 'early', 'retried']);
    expect(answers.map((answer) => answer.includes(':'))).toEqual([true, true, true, true]);
    expect(groups.flatMap(({ rows }) => rows)).not.toContain('early');
    commit('1', 'fresh');
    await writer.flush();
    expect(answers.at(-1)).toBe('fresh');
  });

  test('faults once after a lost connection and is not retried; the next group is tried', async () => {
    const { writer, groups, answers, commit } = arrange();
    commit('1', 'a');
    commit('2', 'b');
    await settleAll();
    commit('1', 'behind');
    commit('3', 'c');
    groups[0]?.settle(lost());
    await settleAll();
    const fault = 'The connection to the database was lost during a commit: Connection terminated';
    expect(answers).toEqual([`a: ${fault}`, `b: ${fault}`]);
    expect(groups[1]?.rows).toEqual(['c']);
    groups[1]?.settle();
    await writer.flush();
    expect(answers.slice(2)).toEqual([`behind: ${fault}`, 'c']);
    expect(groups).toHaveLength(2);
  });

  test('a flush after a lost connection to a server waits until the group cannot be committed late', async () => {
    const { driver, groups } = heldDriver();
    const writer = openWriter({ ...driver, kind: 'postgres' });
    const log: string[] = [];
    const facts: Commit['facts'] = [{ type: 'userCreated', user: { ...user('1'), bot: true } }];
    writer.commit({ ownerId: '1', facts, done: (fault) => log.push(fault ? 'fault' : 'done') });
    await settleAll();
    const flushed = () =>
      writer.flush().then(
        () => log.push('flushed'),
        (fault: Error) => log.push(fault.message),
      );
    const early = flushed();
    groups[0]?.settle(lost());
    await settleAll();
    expect([log, groups[1]?.rows]).toEqual([['fault'], []]);
    groups[1]?.settle(lost());
    await early;
    expect(log[1]).toBe('The connection to the database was lost during a commit: Connection terminated');
    const late = flushed();
    await settleAll();
    writer.commit({ ownerId: '2', facts, done: (fault) => log.push(fault ? 'fault' : 'done') });
    groups[2]?.settle();
    await late;
    await settleAll();
    groups[3]?.settle();
    await flushed();
    expect(log.slice(2)).toEqual(['flushed', 'done', 'flushed']);
    expect(groups).toHaveLength(4);
  });

  test('a flush ends when the commits before it are settled, while later commits run', async () => {
    const { writer, groups, answers, commit } = arrange();
    commit('1', 'a');
    void writer.flush().then(() => answers.push('flushed'));
    await settleAll();
    commit('2', 'b');
    groups[0]?.settle();
    await settleAll();
    expect([answers, groups.map(({ rows }) => rows), writer.depth]).toEqual([
      ['a', 'flushed'],
      [['a'], ['b']],
      1,
    ]);
    groups[1]?.settle();
    await writer.flush();
    expect(answers).toEqual(['a', 'flushed', 'b']);
  });

  test('does not try the rest when the connection is lost among retries', async () => {
    const { writer, groups, answers, commit } = arrange();
    for (const name of ['a', 'b', 'c']) commit(name, name);
    await settleAll();
    groups[0]?.settle(refused());
    await settleAll();
    groups[1]?.settle();
    await settleAll();
    groups[2]?.settle(lost());
    await writer.flush();
    expect(answers.map((answer) => answer.slice(0, 24))).toEqual([
      'a',
      'b: The connection to the',
      'c: The connection to the',
    ]);
    expect(groups.map(({ rows }) => rows.join(''))).toEqual(['abc', 'a', 'b']);
  });

  test('a full queue answers with a fault, in order, and opens again', async () => {
    const { writer, groups, answers, commit } = arrange({ depthMax: 2 });
    commit('1', 'a');
    await settleAll();
    for (const name of ['b', 'c', 'd']) commit(name, name);
    expect(answers).toEqual([]);
    groups[0]?.settle();
    await settleAll();
    groups[1]?.settle();
    await writer.flush();
    const full = (depth: number) => `The commit queue is full: ${depth} commits wait for the database.`;
    expect(answers).toEqual(['a', 'b', `c: ${full(2)}`, `d: ${full(3)}`]);
    commit('c', 'again');
    await settleAll();
    groups[2]?.settle();
    await writer.flush();
    expect(answers.at(-1)).toBe('again');
  });

  test('a commit that is rejected twice is answered once, and its owner may continue', async () => {
    const { writer, groups, answers, commit } = arrange({ depthMax: 1 });
    commit('1', 'a');
    await settleAll();
    commit('1', 'over the bound');
    groups[0]?.settle(lost());
    await writer.flush();
    expect(answers).toHaveLength(2);
    commit('1', 'b');
    await settleAll();
    groups[1]?.settle();
    await writer.flush();
    expect(answers.at(-1)).toBe('b');
  });

  test('text that waits is bounded too', async () => {
    const { writer, answers, commit } = arrange({ waitingCharsMax: 500 }, () => null);
    commit('1', 'x'.repeat(500));
    commit('2', 'b');
    await writer.flush();
    expect(answers[1]).toContain('b: The commit queue is full');
  });

  test('a commit that cannot be written down faults by itself', async () => {
    const { writer, answers, commit } = arrange({}, () => null);
    commit('1', 'a', undefined, [{ type: 'userCreated', user: { ...user('1'), flags: 1n } } as never]);
    commit('2', 'b', undefined, [{ type: 'noSuchFact' } as never]);
    commit('3', 'c');
    await writer.flush();
    expect(answers[0]).toContain("a: The commit's rows cannot be serialized: ");
    expect(answers[1]).toContain(
      "b: The commit's rows cannot be serialized: no table for the fact noSuchFact",
    );
    expect(answers[2]).toBe('c');
  });

  test('a callback that throws is reported and stops nothing', async () => {
    const bugs: unknown[] = [];
    const { writer, answers, commit } = arrange({ onBug: (error) => bugs.push(error) }, () => null);
    commit('1', 'a', () => {
      throw new Error('bug');
    });
    commit('2', 'b');
    await writer.flush();
    expect([answers, bugs]).toEqual([['a', 'b'], [new Error('bug')]]);
  });

  test('the purge is notified of a deleted guild before the owner is answered, and of no other fact', async () => {
    const order: string[] = [];
    const { writer, commit } = arrange({ onMessagesLeft: () => order.push('purge') }, () => null);
    commit('1', 'a', () => order.push('other'));
    commit('7', 'gone', () => order.push('owner'), [{ type: 'guildDeleted', memberIds: [] }]);
    await writer.flush();
    expect(order).toEqual(['other', 'purge', 'owner']);
  });

  test('closing settles the accepted commits and rejects later ones', async () => {
    const { writer, answers, commit } = arrange({}, () => null);
    commit('1', 'a');
    const closed = writer.close();
    commit('2', 'b');
    await closed;
    await writer.flush();
    expect(answers).toEqual(['a', 'b: The storage is closed.']);
  });

  test('answers every commit once, in order, whatever fails, and an owner never writes past its fault', async () => {
    const plan = fc.array(
      fc.record({ owner: fc.integer({ min: 1, max: 4 }), poison: fc.boolean(), wait: fc.boolean() }),
      {
        maxLength: 40,
      },
    );
    await fc.assert(
      fc.asyncProperty(plan, async (steps) => {
        const applied: string[] = [];
        const { writer, answers, commit } = arrange({ groupCommitsMax: 5 }, (rows) => {
          if (rows.some((name) => name.startsWith('poison'))) return refused();
          applied.push(...rows);
          return null;
        });
        /** Names handed in by an owner that has a fault it does not know of. */
        const doomed = new Set<string>();
        const unheard = new Map<number, number>();
        for (const [n, { owner, poison, wait }] of steps.entries()) {
          const name = `${poison ? 'poison' : 'good'}${n}`;
          if (poison || unheard.get(owner)) {
            doomed.add(name);
            unheard.set(owner, (unheard.get(owner) ?? 0) + 1);
          }
          commit(String(owner), name, () => {
            if (doomed.has(name)) unheard.set(owner, (unheard.get(owner) ?? 1) - 1);
          });
          if (wait) await settleAll();
        }
        await writer.flush();
        expect(answers.map((answer) => answer.split(':')[0])).toEqual(
          steps.map(({ poison }, n) => `${poison ? 'poison' : 'good'}${n}`),
        );
        const good = steps
          .map((_, n) => `good${n}`)
          .filter((name, n) => !steps[n]?.poison && !doomed.has(name));
        expect(applied).toEqual(good);
        expect(answers.filter((answer) => !answer.includes(':'))).toEqual(good);
      }),
      { numRuns: 200 },
    );
  });
});
