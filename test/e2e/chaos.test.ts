// Goal: whatever happens to the processes of a cluster, to etcd, to PostgreSQL and to the network, no acknowledged
// write is lost or duplicated, and every session receives all that is stored, once and in order.
import { describe, expect, test } from 'vitest';
import { ONE_OF_EACH } from '../chaos/faults.ts';
import { lacking } from '../chaos/ground.ts';
import { lineOf } from '../chaos/judge.ts';
import { runChaos } from '../chaos/run.ts';
import { ROOT } from '../support/source.ts';

const SEED = 1;
const TIMEOUT_MS = 240_000;

describe.skipIf(lacking() !== null)('three shards, etcd and PostgreSQL', () => {
  test(
    'lose, double and reorder nothing, and write nothing stale, under one fault of each kind',
    async ({ onTestFailed }) => {
      const lines: string[] = [];
      onTestFailed(() => console.log(lines.join('\n')));
      const left = [...ONE_OF_EACH];
      const next = (random: () => number) => left.splice(Math.floor(random() * left.length), 1)[0] ?? null;
      const report = await runChaos({ root: ROOT, seed: SEED, next, log: (line) => void lines.push(line) });
      const { lost, doubled, reordered, stale } = report;
      const wrong = [...lost, ...doubled, ...reordered, ...stale].slice(0, 20);
      // The message is what is left of a failure that did not repeat.
      expect(wrong, wrong.join('; ')).toEqual([]);
      expect(lineOf(report)).toBe('lost 0, doubled 0, reordered 0, stale 0');
      expect(report.acknowledged).toBeGreaterThan(200);
      expect(report.resumed).toBeGreaterThan(0);
      // Every delayed write says for how long, and no write fails otherwise.
      expect(report.later).toBe(report.laterWithHint);
      expect(report.refused).toEqual({});
    },
    TIMEOUT_MS,
  );
});
