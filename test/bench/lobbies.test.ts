// Goal: a run of lobbies follows every message and update to each member of a real server, and a storm is read back to the seat.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lobbiesPageOf } from '../../bench/gateway/page.ts';
import type { Percentiles } from '../../bench/gateway/report.ts';
import { parseBound } from '../../bench/gateway/threshold.ts';
import { benchLobbies, type LobbiesOptions } from '../../bench/lobbies/bench.ts';
import type { Player } from '../../bench/lobbies/players.ts';
import { LOBBY_METRICS, lobbiesCsvOf, lobbiesFiguresOf } from '../../bench/lobbies/report.ts';
import { judge, stormLobbies, stormRowOf } from '../../bench/lobbies/storm.ts';
import type { Progress } from '../../bench/progress.ts';
import { columnsOf, csvTable } from '../../bench/table.ts';
import { seedDemo } from '../../cli/demo.ts';
import type { Engine } from '../../embedding.ts';
import { createEngine } from '../../main.ts';

const START_MS = 120_000;
let engine: Engine;
let options: LobbiesOptions;
const progress: Progress[] = [];

beforeAll(async () => {
  engine = await createEngine({
    config: { log_level: 'silent', listen_port: 0, voice: false, rate_limits: false },
  });
  const { gateway, api } = await engine.listen();
  const demo = await seedDemo(engine, { bots: 1 });
  options = {
    url: gateway,
    api,
    token: demo.bots[0]?.token as string,
    serverPid: process.pid,
    isOwnHost: false,
    lobbies: 2,
    membersEach: 3,
    messagesPerSecond: 20,
    updatesPerSecond: 20,
    durationSeconds: 0.4,
    contentBytes: 120,
    identifyPerSecond: 1000,
    atOnce: 4,
    settleMs: 300,
    thresholds: ['messages.p99<0.1us', 'lost<1', 'joins>0'],
    onProgress: (each) => progress.push(each),
  };
}, START_MS);
afterAll(() => engine.close());

describe('a run', { timeout: START_MS }, () => {
  test('counts messages and updates to the last member of each lobby', async () => {
    const report = await benchLobbies(options);
    expect(report.joins).toMatchObject({ asked: 6, failed: 0 });
    for (const part of [report.messages, report.updates, report.members]) {
      expect(part).toMatchObject({ sent: 8, answered: 8, limited: 0, failed: 0, deliveries: 24 });
      expect(part).toMatchObject({ lost: 0, duplicated: 0, reordered: 0 });
      expect(part.lastMs.p50).toBeGreaterThan(0);
      expect(part.lastMs.max).toBeGreaterThanOrEqual(part.deliveryMs.max);
      expect(part.timeline.reduce((sum, each) => sum + each, 0)).toBe(24);
    }
    expect(report).toMatchObject({ dropped: 0, closes: {}, failures: [] });
    expect(report.thresholds.map(({ kept }) => kept)).toEqual([false, true, true]);
    expect(new Set(progress.map(({ phase }) => phase))).toContain('joining');
    const figures = lobbiesFiguresOf(report);
    expect(columnsOf(figures, report.headline).endsWith(report.headline)).toBe(true);
    expect(lobbiesPageOf(report.headline, figures, report.messages)).toContain('<svg');
    const [header, ...rows] = lobbiesCsvOf(report).trimEnd().split('\n');
    expect(rows.map((row) => row.split(',').length)).toEqual(Array(3).fill(header?.split(',').length));
  });

  test('finds every player in one seat after a storm of joins', async () => {
    const report = await stormLobbies({ ...options, thresholds: [], joins: 24, lobbies: 5, atOnce: 24 });
    expect(report).toMatchObject({ failed: {}, missing: 0, doubled: 0, lobbiesFound: 5, kept: true });
    expect(report.failures).toEqual([]);
    expect(csvTable([stormRowOf(report)]).split('\n')[0]).toContain('joins_per_s');
  });

  test('takes thresholds on what a storm of joins measures, and refuses others', async () => {
    const storm = { ...options, joins: 4, lobbies: 2, atOnce: 4 };
    const report = await stormLobbies({ ...storm, thresholds: ['joins.p99<0.1us', 'failed<1'] });
    expect(report.thresholds).toEqual([
      { text: 'joins.p99<0.1us', kept: false },
      { text: 'failed<1', kept: true },
    ]);
    await expect(stormLobbies({ ...storm, thresholds: ['messages.p99<1ms'] })).rejects.toThrow(
      /no such figure/,
    );
  });

  test('is refused for the server of another host', async () => {
    await expect(
      stormLobbies({ ...options, thresholds: [], url: 'ws://198.51.100.7', joins: 1, lobbies: 1, atOnce: 1 }),
    ).rejects.toThrow(/not this machine/);
  });
});

describe('a broken storm of joins', () => {
  const answerMs: Percentiles = { p50: 1, p90: 1, p99: 1, p999: 1, p9999: 1, max: 1, mean: 1 };
  const settled = { seconds: 1, perSecond: 3, answerMs, cpuMicrosPerJoin: null, retried: {}, failed: {} };
  const plan = { joins: 3, lobbies: 2, atOnce: 3 };
  const players = ['1', '2', '3'].map((userId): Player => ({ userId, authorization: '' }));
  const outcome = (joined: string[], members: Record<string, string[]>, failed = {}) =>
    judge(plan, { ...settled, failed }, { players, joined, members: new Map(Object.entries(members)) });

  test('is not reported when every join is answered and seated once', () => {
    expect(outcome(['a', 'b', 'a'], { a: ['1', '3'], b: ['2'] }).kept).toBe(true);
  });

  test.each([
    ['a join failed', ['a', 'b', ''], { a: ['1'], b: ['2'] }, { failed: { 503: 1 } }],
    ['a seat is missing', ['a', 'b', 'a'], { a: ['1'], b: ['2'] }, { missing: 1 }],
    ['a player sits twice', ['a', 'b', 'a'], { a: ['1', '3'], b: ['2', '3'] }, { doubled: 1 }],
    ['a secret made two lobbies', ['a', 'b', 'c'], { a: ['1'], b: ['2'], c: ['3'] }, { lobbiesFound: 3 }],
  ] as const)('is reported when %s', (_, joined, members, found) => {
    const listed = Object.fromEntries(Object.entries(members).map(([id, ids]) => [id, [...ids]]));
    const failed = 'failed' in found ? found.failed : {};
    expect(outcome([...joined], listed, failed)).toMatchObject({ ...found, kept: false });
  });
});

describe('a threshold', () => {
  test.each([
    ['messages.p99<50ms', 'messages.p99', 50],
    ['updates.p99.9<=1s', 'updates.p99.9', 1000],
    ['members.cpu<9us', 'members.cpu', 9],
    ['joins>=1000', 'joins', 1000],
  ])('%s is understood', (text, metric, bound) => {
    expect(parseBound(text, LOBBY_METRICS)).toMatchObject({ metric, bound });
  });

  test.each([
    ['p99<50ms', /no threshold/],
    ['joins.p99<50', /unit/],
    ['joins<5ms', /leave out/],
  ])('%s is refused', (text, reason) => {
    expect(() => parseBound(text, LOBBY_METRICS)).toThrow(reason);
  });
});
