// Goal: runs with several numbers of shards are reported side by side, and a fleet reports each lap.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { besideOf } from '../../bench/gateway/beside.ts';
import { Fleet } from '../../bench/gateway/fleet.ts';
import { Sender } from '../../bench/gateway/sender.ts';
import { nowNs } from '../../bench/wire/pace.ts';
import { cpuMicrosOfTree, residentOnce, usageOf } from '../../bench/wire/process.ts';
import { type FakeGateway, startFakeGateway } from './fake.gateway.ts';
import { buildReport } from './report.builder.ts';

let gateway: FakeGateway | null = null;
afterEach(async () => {
  await gateway?.close();
  gateway = null;
});

test('each number of shards has a line, with deliveries for a second of CPU', () => {
  const server = { cpuMicrosPerDelivery: 8, cpuShare: 1, rssBytes: 2 ** 20 };
  const report = { ...buildReport(), server };
  const lines = besideOf([
    { shards: 1, report },
    { shards: 4, report: { ...report, lost: 3, server: null } },
  ]).split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[2]).toMatch(/^\| 1 \| 8\.00 \| 125,000 \|.*\| 1 \|$/);
  expect(lines[3]).toMatch(/^\| 4 \| – \| – \|.*\| 3, 0, 0 \| – \|$/);
});

test('the use of several processes is added up, and is unknown when one of them is gone', () => {
  const one = usageOf(process.pid);
  const both = usageOf([process.pid, process.pid]);
  if (one && both) expect(both.rssBytes).toBeGreaterThan(1.5 * one.rssBytes);
  expect(usageOf([process.pid, 2 ** 30])).toBeNull();
});

test('memory that processes share is counted once, and is unknown when one of them is gone', async () => {
  // Two idle processes of the same program of tens of megabytes; the memory of this one changes meanwhile.
  const idle = ['-e', 'console.log("ready"); setTimeout(() => {}, 60_000)'];
  const children = [spawn(process.execPath, idle), spawn(process.execPath, idle)];
  try {
    await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
    const both = children.map(({ pid }) => pid ?? 0);
    const [resident, ofOne] = [residentOnce(both), usageOf(both[0] ?? 0)?.rssBytes];
    if (resident === null || ofOne === undefined) return;
    expect(resident).toBeLessThan((usageOf(both)?.rssBytes ?? 0) - 10 * 2 ** 20);
    expect(resident).toBeGreaterThan(ofOne);
    expect(residentOnce([process.pid, 2 ** 30])).toBeNull();
  } finally {
    for (const child of children) child.kill();
  }
});

test('the CPU time of a process includes its children, also after they have ended', () => {
  const before = cpuMicrosOfTree(process.pid);
  const own = process.cpuUsage();
  const burn =
    'const untilMs = process.cpuUsage().user / 1000 + 200; while (process.cpuUsage().user / 1000 < untilMs);';
  expect(spawnSync(process.execPath, ['-e', burn]).status).toBe(0);
  const { user, system } = process.cpuUsage(own);
  const after = cpuMicrosOfTree(process.pid);
  if (before !== null && after !== null)
    expect(after - before).toBeGreaterThanOrEqual(200_000 + user + system - 40_000);
  expect(cpuMicrosOfTree(2 ** 30)).toBeNull();
});

describe('a fleet', () => {
  test('counts each lap from 0, with the same numbers of messages', async () => {
    gateway = await startFakeGateway('none', 200);
    const { url } = gateway;
    const runId = 'a1b2c3d4';
    const total = 5;
    const plan = { url, tokens: ['a'], intents: 513, compress: false, connections: 2, measured: 2 };
    const pace = { identifyIntervalMs: 1, identifyDelayMs: 0 };
    let channelId = '';
    const fleet = new Fleet(
      { ...plan, ...pace, scouts: true, runId, total },
      { progress: () => {}, scouted: ([guild]) => (channelId = guild?.textChannelId ?? '') },
    );
    await fleet.connect();
    const api = new URL('/api', url.replace(/^ws/, 'http'));
    const sending = {
      api,
      authorization: 'Bot a',
      channelId,
      runId,
      perSecond: 100,
      total,
      contentBytes: 80,
    };
    const laps = [];
    for (let lap = 0; lap < 2; lap += 1) {
      fleet.start(0);
      await new Sender({ ...sending, retriesMax: 0 }).run(nowNs());
      await expect.poll(() => fleet.deliveries).toBe(2 * total);
      laps.push(fleet.lap());
    }
    fleet.finish();
    for (const lap of laps) {
      expect(lap).toMatchObject({ deliveries: 2 * total, duplicated: 0, dropped: 0 });
      expect([...lap.seen]).toEqual([2, 2, 2, 2, 2]);
    }
  });
});
