// Goal: a run follows every message to every connection, and says so when a gateway loses, doubles or reorders any.
import { afterEach, describe, expect, test } from 'vitest';
import { type BenchOptions, benchGateway } from '../../bench/gateway/bench.ts';
import { type FakeGateway, type Fault, startFakeGateway } from './fake.gateway.ts';

let gateway: FakeGateway | null = null;
afterEach(async () => {
  await gateway?.close();
  gateway = null;
});

const MESSAGES = 10;

async function run(fault: Fault, more: Partial<BenchOptions> = {}, status = 200) {
  gateway = await startFakeGateway(fault, status);
  return benchGateway({
    url: gateway.url,
    api: null,
    tokens: ['a', 'Bearer b'],
    connections: 4,
    measured: 4,
    threads: 0,
    compress: false,
    intents: 513,
    perSecond: MESSAGES * 2,
    durationSeconds: 0.5,
    contentBytes: 100,
    channelId: null,
    identifyPerSecond: null,
    serverPid: process.pid,
    settleMs: 100,
    thresholds: ['lost<1', 'p99<0.1us'],
    isOwnHost: false,
    ...more,
  });
}

describe('a run', () => {
  test('ends with a plain sentence where nobody listens', async () => {
    await expect(run('none', { url: 'ws://127.0.0.1:1', identifyPerSecond: 100 })).rejects.toThrow(
      /could not identify/,
    );
  });

  test('counts what came, where, and how late', async () => {
    const report = await run('none');
    expect(gateway?.identified()).toBe(4);
    expect(report.sends).toMatchObject({ sent: MESSAGES, answered: MESSAGES, limited: 0, failed: 0 });
    expect(report).toMatchObject({
      deliveries: 4 * MESSAGES,
      lost: 0,
      duplicated: 0,
      reordered: 0,
      dropped: 0,
    });
    expect(report.members).toBe(5);
    expect(report.latencyMs.p50).toBeGreaterThan(0);
    expect(report.latencyMs.max).toBeGreaterThanOrEqual(report.latencyMs.p50);
    expect(report.timeline.reduce((sum, each) => sum + each, 0)).toBe(4 * MESSAGES);
    expect(report.server?.rssBytes ?? 1).toBeGreaterThan(0);
    expect(report.thresholds).toEqual([
      { text: 'lost<1', kept: true },
      { text: 'p99<0.1us', kept: false },
    ]);
  });

  test('reads a zlib stream on some connections and only counts on the others', async () => {
    const report = await run('none', { compress: true, measured: 2 });
    expect(report).toMatchObject({ deliveries: 4 * MESSAGES, measuredConnections: 2, lost: 0 });
  });

  test.each([
    ['loses', { lost: 1, duplicated: 0, reordered: 0 }],
    ['doubles', { lost: 0, duplicated: MESSAGES, reordered: 0 }],
    ['swaps', { lost: 0, duplicated: 0, reordered: 1 }],
    ['drops', { lost: 0, dropped: 1 }],
  ] as const)('sees a gateway that %s', async (fault, found) => {
    expect(await run(fault)).toMatchObject(found);
  });

  test('tells limited from failed sends', async () => {
    expect((await run('none', {}, 429)).sends).toMatchObject({ answered: 0, limited: MESSAGES, failed: 0 });
  });

  test('never leaves this machine unasked', async () => {
    await expect(run('none', { url: 'ws://192.0.2.1' })).rejects.toThrow(/not this machine/);
    await expect(run('none', { api: 'http://192.0.2.1/api' })).rejects.toThrow(/192\.0\.2\.1/);
  });
});
