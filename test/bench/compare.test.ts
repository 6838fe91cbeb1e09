// Goal: two reports are compared figure by figure with the right verdict, and a report says where and how it was made.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aboutFiguresOf, RunWatch } from '../../bench/about.ts';
import { addCompareCommand } from '../../bench/compare.ts';
import { compareReports, comparisonLines } from '../../bench/comparison.ts';
import { pageOf, withAbout } from '../../bench/gateway/page.ts';
import { liveRate } from '../../bench/liverate.ts';
import { starvedBy } from '../../bench/starved.ts';
import { buildReport } from './report.builder.ts';

const verdicts = (before: object, after: object, tolerance = 10) =>
  Object.fromEntries(
    compareReports(before, after, tolerance).map(({ figure, verdict }) => [figure, verdict]),
  );

test.each([
  ['a longer time', { latencyMs: { p99: 10 } }, { latencyMs: { p99: 20 } }, { 'latencyMs.p99': 'worse' }],
  ['a shorter time', { latencyMs: { p99: 20 } }, { latencyMs: { p99: 10 } }, { 'latencyMs.p99': 'better' }],
  [
    'a time within the tolerance',
    { latencyMs: { p99: 100 } },
    { latencyMs: { p99: 109 } },
    { 'latencyMs.p99': 'same' },
  ],
  [
    'a difference below the resolution',
    { latencyMs: { p50: 0.01 } },
    { latencyMs: { p50: 0.05 } },
    { 'latencyMs.p50': 'same' },
  ],
  [
    'more deliveries',
    { deliveriesPerSecond: 100 },
    { deliveriesPerSecond: 200 },
    { deliveriesPerSecond: 'better' },
  ],
  ['a first loss', { lost: 0 }, { lost: 3 }, { lost: 'worse' }],
  ['another load', { connections: 100 }, { connections: 200 }, { connections: 'other load' }],
  ['another compression', { encoding: 'json' }, { encoding: 'zlib-stream' }, { encoding: 'other load' }],
  [
    'joins a second of lobbies',
    { joins: { perSecond: 9 } },
    { joins: { perSecond: 5 } },
    { 'joins.perSecond': 'worse' },
  ],
  [
    'the pace of a part',
    { messages: { perSecond: 9 } },
    { messages: { perSecond: 5 } },
    { 'messages.perSecond': 'other load' },
  ],
  [
    'laps by position',
    { laps: [{ latencyMs: { p50: 1 } }] },
    { laps: [{ latencyMs: { p50: 9 } }] },
    { 'laps[0].latencyMs.p50': 'worse' },
  ],
])('%s gets its verdict', (_what, before, after, expected) => {
  expect(verdicts(before, after)).toEqual(expected);
});

test('a report compared with itself is the same in every figure', () => {
  const rows = compareReports(buildReport({}), buildReport({}), 0);
  expect(rows.length).toBeGreaterThan(15);
  expect(new Set(rows.map(({ verdict }) => verdict))).toEqual(new Set(['same']));
  expect(comparisonLines(rows, []).at(-1)).toMatch(/^0 better, 0 worse, \d+ the same$/);
});

test('comparing any two JSON values throws nothing', () => {
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => void compareReports(one, other, 10)));
});

test('the command prints a row for each figure, repeats warnings, and exits 1 when one is worse', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-compare-'));
  const printed: string[] = [];
  const { exitCode } = process;
  try {
    const about = { starved: ['it used 1.9 of 2 cores'] };
    await writeFile(join(folder, 'a.json'), JSON.stringify(buildReport({ p99: 5 })));
    await writeFile(join(folder, 'b.json'), JSON.stringify({ ...buildReport({ p99: 50 }), about }));
    const program = new Command();
    addCompareCommand(program, (text) => printed.push(text));
    await program.parseAsync(['compare', join(folder, 'a.json'), join(folder, 'b.json')], { from: 'user' });
    expect(process.exitCode).toBe(1);
  } finally {
    process.exitCode = exitCode;
    await rm(folder, { recursive: true });
  }
  expect(printed.join('')).toMatch(/latencyMs\.p99 +5 +50 +\+900\.0 % +worse/);
  expect(printed.join('')).toMatch(
    /Warning: \S+b\.json: The generator was starved.*: it used 1\.9 of 2 cores\.\n$/,
  );
});

test('a report says machine, versions, command without tokens, seed and load', () => {
  const about = new RunWatch().end(['bench', 'gateway', '--token', 'hidden', '--spawn']);
  const figures = Object.fromEntries(aboutFiguresOf(about));
  expect(figures).toMatchObject({
    machine: expect.stringMatching(/cores/),
    command: 'guildhall bench gateway --token … --spawn',
    seed: expect.stringContaining('none'),
  });
  expect(withAbout(pageOf(buildReport({})), aboutFiguresOf(about))).toContain('How it was measured');
});

test.each([
  ['an idle generator', { cpuShare: 0.3, loopDelayP99Ms: 2 }, 0.5, 0],
  ['a late one', { cpuShare: 0.3, loopDelayP99Ms: 80 }, 0.5, 1],
  ['one that needs the whole machine', { cpuShare: 1.95, loopDelayP99Ms: 2 }, 0.5, 1],
  ['one beside other work', { cpuShare: 0.3, loopDelayP99Ms: 2 }, 9, 1],
])('%s is reported as starved with each reason', (_what, generator, loadBefore, reasons) => {
  expect(starvedBy({ cores: 2, loadBefore, generator })).toHaveLength(reasons);
});

test('the live rate covers the last two seconds of a phase', () => {
  const rateOf = liveRate();
  const at = (nowMs: number, done: number, phase = 'sending') => rateOf({ phase, done }, nowMs);
  expect([at(0, 0), at(1000, 100), at(2000, 200), at(4000, 210)]).toEqual([
    '',
    ' · 100/s',
    ' · 100/s',
    ' · 5.0/s',
  ]);
  expect(at(4100, 0, 'settling')).toBe('');
});
