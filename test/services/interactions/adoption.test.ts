// Goal: after a restart or a change of owner, invocations wait for the nonces of earlier ones and for nothing else.
import { expect, test } from 'vitest';
import type { Interaction } from '../../../engine/interaction/interaction.ts';
import { Adoption } from '../../../services/interactions/adoption.ts';
import { until } from '../../support/instance.ts';

const PAGE = 500;
const stored = (count: number): Interaction[] =>
  Array.from(
    { length: count },
    (_, at) => ({ id: String(at + 1), ownerId: at % 2 ? '7' : '8' }) as Interaction,
  );

/** An adoption of rows, of which each resumption waits until `release` is called. */
function adoptionOf(rows: readonly Interaction[], faults: (Error | null)[] = []) {
  const [noted, resumed, held]: [string[], string[], (() => void)[]] = [[], [], []];
  const paused: ((goesOn: boolean) => void)[] = [];
  const release = (): void => {
    for (const each of held.splice(0)) each();
  };
  const adoption = new Adoption({
    store: {
      since: async (after, limit) => {
        const fault = faults.shift();
        if (fault) throw fault;
        const from = rows.findIndex(({ id }) => id === after) + 1;
        return rows.slice(from, from + limit);
      },
    },
    owns: (ownerId) => ownerId === '7',
    note: ({ id }) => void noted.push(id),
    resume: ({ id }) => {
      resumed.push(id);
      return new Promise((resolve) => held.push(resolve));
    },
    nowMs: () => Date.UTC(2026, 10, 26),
    scope: { over: false },
    wheel: {
      add: () => ({ cancel: () => undefined }),
      after: () => undefined,
      pause: () => new Promise((resolve) => paused.push(resolve)),
    },
    onFault: () => undefined,
  });
  return { adoption, noted, resumed, release, paused };
}

test('invocations do not wait until each earlier interaction is completed', async () => {
  const { adoption, noted, resumed, release } = adoptionOf(stored(3 * PAGE));
  adoption.begin(() => true);
  await adoption.noted();
  expect(noted).toHaveLength((3 * PAGE) / 2);
  await until(() => resumed.length > 0, 'the first page');
  // A page at a time.
  expect(resumed).toHaveLength(PAGE / 2);
  release();
  await until(() => resumed.length === PAGE, 'the second page');
});

test('interactions of other owners are neither noted nor resumed, also when a failed read is retried', async () => {
  const { adoption, noted, resumed } = adoptionOf(stored(4), [new Error('The connection broke.')]);
  adoption.begin(() => true);
  await adoption.noted();
  await until(() => resumed.length > 0, 'the page');
  expect([noted, resumed]).toEqual([
    ['2', '4'],
    ['2', '4'],
  ]);
});

test('interactions are read again when the database fails after their nonces were read', async () => {
  const faults = [null, new Error('The connection broke.')];
  const { adoption, resumed, paused } = adoptionOf(stored(4), faults);
  adoption.begin(() => true);
  await until(() => paused.length > 0, 'the pause');
  expect(resumed).toEqual([]);
  paused[0]?.(true);
  await until(() => resumed.length > 0, 'the page');
  expect(resumed).toEqual(['2', '4']);
});

test('an adoption of some owners leaves the others alone', async () => {
  const { adoption, noted } = adoptionOf(stored(4));
  adoption.begin((ownerId) => ownerId === '8');
  await adoption.noted();
  expect(noted).toEqual([]);
});
