// Goal: where other shards serve requests, a merge takes over what they wrote until its grants were revoked everywhere, and
// goes on at the next owner of its game.
import { describe, expect, it } from 'vitest';
import type { Move } from '../../../engine/provisional/facts.ts';
import { AccountMerges } from '../../../services/players/accountmerges.ts';

const move = { kind: 'merge', id: '1', applicationId: '7', fromId: '30', toId: '20' } as unknown as Move;
const OTHER = { ...move, id: '2', fromId: '31', toId: '21' } as unknown as Move;
const IN_FLIGHT_MS = 15_000;
const COMPLETED = 'USER_MERGE_OPERATION_COMPLETED';

/** Begins a merge where a request of another shard may be under way for so long. */
async function begun(inFlightMs: number) {
  const log: unknown[] = [];
  const later: { readonly run: () => void; readonly delayMs: number }[] = [];
  type Run = (hasMoved: (id: string) => boolean) => void;
  const moved: { fails: boolean; run: Run } = { fails: false, run: () => undefined };
  const database: { isLost: boolean; stored: readonly Move[] } = { isLost: false, stored: [OTHER] };
  /** Accounts that the database has not any more. */
  const gone = new Set<string>();
  const merges = new AccountMerges({
    routing: { owns: () => true, onMoved: (run: Run) => Object.assign(moved, { run }), inFlightMs },
    identities: {
      merges: async () => {
        if (moved.fails) throw new Error('The database is away.');
        return database.stored;
      },
    },
    familyOf: async () => ['7'],
    oauth: () => ({ deauthorize: async () => log.push('revoke') }),
    mergeables: () => [{ merge: async (from: string, to: string) => log.push(`merge ${from} ${to}`) }],
    commit: async (ownerId: string, facts: readonly { readonly type: string }[]) => {
      log.push(`${ownerId}: ${facts.map(({ type }) => type)}`);
      if (database.isLost) throw new Error('The connection is lost.');
    },
    users: { get: async ([id]: readonly string[]) => (id && !gone.has(id) ? [{ id }] : []) },
    commitAndNotify: async (
      ownerId: string,
      facts: readonly { readonly type: string }[],
      sent: readonly { readonly t: string }[],
    ) => {
      log.push(`${ownerId}: ${facts.map(({ type }) => type)}`);
      if (database.isLost) throw new Error('The connection is lost.');
      return () => log.push(...sent.map(({ t }) => t));
    },
    tap: { see: () => undefined },
    schedule: (run: () => void, delayMs: number) => later.push({ run, delayMs }),
    onFault: (error: unknown) => log.push(error),
  } as never);
  const ended = merges.run(move);
  await new Promise((resolve) => setImmediate(resolve));
  return { log, later, ended, merges, moved, database, gone };
}

const FIRST = ['revoke', 'merge 30 20'];

it('merges again before it ends, and holds both accounts until then', async () => {
  const { log, later, ended, merges } = await begun(IN_FLIGHT_MS);
  expect(log).toEqual([...FIRST, '7: provisionalDeleted', COMPLETED]);
  expect(later.map(({ delayMs }) => delayMs)).toEqual([IN_FLIGHT_MS]);
  expect(merges.claim('20' as never)).toBeNull();
  later[0]?.run();
  await ended;
  expect(log.slice(4)).toEqual(['merge 30 20', '7: moveEnded']);
  expect(merges.claim('20' as never)).not.toBeNull();
});

it('notifies nobody again when an earlier owner has deleted the account', async () => {
  const { log, later, moved, database, gone } = await begun(IN_FLIGHT_MS);
  log.splice(0);
  gone.add(OTHER.kind === 'merge' ? OTHER.fromId : '');
  database.stored = [OTHER];
  moved.run(() => true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual(['revoke', 'merge 31 21']);
  later.at(-1)?.run();
  await new Promise((resolve) => setImmediate(resolve));
  expect(log.slice(2)).toEqual(['merge 31 21', '7: moveEnded']);
});

it('ends at once in a single process', async () => {
  const { log, later, ended } = await begun(0);
  await ended;
  expect(log).toEqual([...FIRST, '7: provisionalDeleted,moveEnded', COMPLETED]);
  expect(later).toEqual([]);
});

it('continues the merges of the previous owner after a read of them has failed', async () => {
  const { log, later, merges, moved } = await begun(0);
  log.splice(0);
  moved.fails = true;
  moved.run(() => true);
  await new Promise((resolve) => setImmediate(resolve));
  expect([log, later.map(({ delayMs }) => delayMs)]).toEqual([[new Error('The database is away.')], [1_000]]);
  moved.fails = false;
  later[0]?.run();
  await new Promise((resolve) => setImmediate(resolve));
  expect(log.slice(1)).toEqual(['revoke', 'merge 31 21', '7: provisionalDeleted,moveEnded', COMPLETED]);
  expect(merges.claim('21' as never)).not.toBeNull();
});

it('does not begin a merge again that is under way when its partition moves here', async () => {
  const { log, moved, database } = await begun(IN_FLIGHT_MS);
  log.splice(0);
  database.stored = [move];
  moved.run(() => true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual([]);
});

describe('a merge whose commit seems to fail', () => {
  /** `isAway`: the database cannot be read; `stored`: the moves that it has. */
  async function storing(stored: readonly Move[], isAway = false) {
    const { log, later, merges, moved, database } = await begun(0);
    log.splice(0);
    Object.assign(database, { isLost: true, stored });
    const written = { type: 'identityWritten' } as never;
    await expect(merges.store(OTHER, [written], () => log.push('begun'))).rejects.toThrow('lost');
    expect(log.splice(0)).toEqual(['7: identityWritten,moveBegun']);
    Object.assign(database, { isLost: false });
    moved.fails = isAway;
    const look = async () => {
      const next = later.shift();
      next?.run();
      await new Promise((resolve) => setImmediate(resolve));
      return next?.delayMs;
    };
    const isHeld = () => {
      const release = merges.claim('21' as never);
      release?.();
      return release === null;
    };
    return { log, moved, database, look, isHeld };
  }
  const ENDED = ['begun', 'revoke', 'merge 31 21', '7: provisionalDeleted,moveEnded', COMPLETED];

  it('begins when it was stored all the same, and holds its accounts until that is known', async () => {
    const { log, look, isHeld } = await storing([OTHER]);
    expect(isHeld()).toBe(true);
    expect(await look()).toBe(1_000);
    expect([log, isHeld(), await look()]).toEqual([ENDED, false, undefined]);
  });

  it('begins when a later check finds it stored', async () => {
    const { log, database, look, isHeld } = await storing([]);
    await look();
    expect([log, isHeld()]).toEqual([[], false]);
    database.stored = [OTHER];
    expect([await look(), log]).toEqual([9_000, ENDED]);
  });

  it('is dropped when no check finds it', async () => {
    const { log, look } = await storing([]);
    expect([await look(), await look(), await look(), await look()]).toEqual([
      1_000,
      9_000,
      50_000,
      undefined,
    ]);
    expect(log).toEqual([]);
  });

  it('is checked again when the database cannot be read', async () => {
    const { log, moved, look, isHeld } = await storing([OTHER], true);
    await look();
    expect([log.splice(0), isHeld()]).toEqual([[new Error('The database is away.')], true]);
    moved.fails = false;
    expect([await look(), log, isHeld()]).toEqual([1_000, ENDED, false]);
  });
});
