// Goal: a lane that crashes or hangs restarts with all its orders; a lane that keeps crashing drops its calls and restarts.
import { describe, expect, test } from 'vitest';
import type { LaneListener, LaneOrder, LanePlan, LaneReport, RunningLane } from '../../../media/io/orders.ts';
import { SupervisedLane, type Timers } from '../../../media/io/supervised.ts';

class VirtualTimers implements Timers {
  #nowMs = 0;
  #due: { atMs: number; everyMs: number | null; run: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void, everyMs: number | null = null): () => void {
    const timer = { atMs: this.#nowMs + delayMs, everyMs, run };
    this.#due.push(timer);
    return () => {
      this.#due = this.#due.filter((each) => each !== timer);
    };
  }

  every(intervalMs: number, run: () => void): () => void {
    return this.after(intervalMs, run, intervalMs);
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = this.#due.filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
      if (!next) break;
      this.#nowMs = next.atMs;
      if (next.everyMs === null) this.#due = this.#due.filter((each) => each !== next);
      else next.atMs += next.everyMs;
      next.run();
      await settled();
    }
    this.#nowMs = endMs;
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Life {
  readonly plan: LanePlan;
  readonly outlet: LaneListener;
  readonly orders: LaneOrder[];
  readonly batches: number[];
  ordersAtAsk: number;
}

const QUIET: LaneReport = { findings: [], nonces: [], metrics: null, answerTo: 0, bug: null };
const PORT = 4711;

async function arrange() {
  const timers = new VirtualTimers();
  const lives: Life[] = [];
  const heard: string[] = [];
  let isRefused = false;
  const start = async (plan: LanePlan, outlet: LaneListener): Promise<RunningLane> => {
    if (isRefused) throw new Error('taken');
    const life: Life = { plan, outlet, orders: [], batches: [], ordersAtAsk: -1 };
    lives.push(life);
    return {
      port: plan.port === 0 ? PORT : plan.port,
      sender: { kind: 'dgram', reason: null },
      order: (orders) => {
        life.orders.push(...orders);
        life.batches.push(orders.length);
      },
      packets: () => true,
      ask: (question) => {
        life.ordersAtAsk = life.orders.length;
        outlet.report({ ...QUIET, answerTo: question });
      },
      kill: () => outlet.died('killed'),
      stop: async () => {},
    };
  };
  const lane = await SupervisedLane.open({ host: '127.0.0.1', port: 0, isNative: false }, start, timers, {
    finding: ({ type, callId }) => heard.push(`${type} ${callId}`),
    packets: () => {},
    restored: (callIds) => heard.push(`restored ${callIds}`),
    lost: (callIds) => heard.push(`lost ${callIds}`),
    fault: () => heard.push('fault'),
  });
  return {
    timers,
    lane,
    lives,
    heard,
    refuse: (on: boolean) => {
      isRefused = on;
    },
    last: (): Life => lives.at(-1) as Life,
  };
}

const OPEN: LaneOrder = { type: 'open', callId: 'c' };
const JOIN: LaneOrder = { type: 'join', callId: 'c', member: { ssrc: 5, userId: '1', layers: [] } };
const UDP: LaneOrder = {
  type: 'udp',
  ssrc: 5,
  transport: {
    mode: 'aead_aes256_gcm_rtpsize',
    key: new Uint8Array(32),
    claimed: null,
    resume: null,
  },
};

describe('a lane', () => {
  test('receives the orders of one event loop turn in one message', async () => {
    const { lane, last } = await arrange();
    lane.order(OPEN);
    lane.order({ type: 'encryptedOnly', callId: 'c', on: true });
    await settled();
    expect(last().orders.map(({ type }) => type)).toEqual(['open', 'encryptedOnly']);
    expect(last().batches).toEqual([2]);
  });

  test('receives a join and a transport at once, without waiting for the end of the turn', async () => {
    const { lane, last } = await arrange();
    lane.order(OPEN);
    lane.order(JOIN);
    expect(last().orders).toEqual([OPEN, JOIN]);
    lane.order(UDP);
    expect(last().orders).toEqual([OPEN, JOIN, UDP]);
    await settled();
    expect(last().batches).toEqual([2, 1]);
  });

  test('restarts on the same port after a crash, receives its orders again and notifies its calls', async () => {
    const { lane, lives, heard, timers, last } = await arrange();
    lane.order(OPEN);
    lane.order(JOIN);
    await settled();
    last().outlet.died('crash');
    expect(lane.isUp).toBe(false);
    await timers.advance(0);
    expect(lives).toHaveLength(2);
    expect(last().plan.port).toBe(PORT);
    expect(last().orders).toEqual([OPEN, JOIN]);
    expect(heard).toEqual(['fault', 'restored c']);
    expect(lane.restarts).toBe(1);
  });

  test('receives the orders given while it was down after its restart, and notifies their calls', async () => {
    const { lane, timers, last, heard } = await arrange();
    last().outlet.died('crash');
    lane.order(OPEN);
    lane.order(JOIN);
    await timers.advance(0);
    expect(last().orders).toEqual([OPEN, JOIN]);
    expect(heard).toEqual(['fault', 'restored c']);
  });

  test('is restarted when it sends no report for 7 seconds', async () => {
    const { timers, lives, last } = await arrange();
    for (let second = 0; second < 20; second += 1) {
      await timers.advance(1000);
      last().outlet.report(QUIET);
    }
    expect(lives).toHaveLength(1);
    await timers.advance(7000);
    expect(lives).toHaveLength(2);
  });

  test('drops its calls after three crashes in a minute, and restarts with growing delays', async () => {
    const { lane, timers, lives, heard, last } = await arrange();
    lane.order(OPEN);
    await settled();
    for (let death = 0; death < 3; death += 1) {
      last().outlet.died('crash');
      await timers.advance(500);
    }
    expect(heard).toEqual(['fault', 'restored c', 'fault', 'restored c', 'fault', 'lost c']);
    expect(lane.callCount).toBe(0);
    expect(lives).toHaveLength(4);
    last().outlet.died('crash');
    await timers.advance(900);
    expect(lives).toHaveLength(4);
    await timers.advance(200);
    expect(lives).toHaveLength(5);
    expect(last().orders).toEqual([]);
  });

  test('keeps its calls when its crashes are far apart', async () => {
    const { lane, timers, heard, last } = await arrange();
    lane.order(OPEN);
    await settled();
    for (let death = 0; death < 5; death += 1) {
      last().outlet.died('crash');
      for (let second = 0; second < 61; second += 1) {
        await timers.advance(1000);
        last().outlet.report(QUIET);
      }
    }
    expect(heard.filter((each) => each.startsWith('lost'))).toEqual([]);
  });

  test('retries its start until its port is free', async () => {
    const { lane, timers, refuse, last } = await arrange();
    refuse(true);
    last().outlet.died('crash');
    await timers.advance(60_000);
    expect(lane.isUp).toBe(false);
    refuse(false);
    // Tries are 30 seconds apart by now, and the last was 28 seconds ago.
    await timers.advance(3000);
    expect(lane.isUp).toBe(true);
  });

  test('keeps its metrics across restarts', async () => {
    const { lane, timers, last } = await arrange();
    const metrics = (packetsIn: number): LaneReport => ({
      ...QUIET,
      metrics: {
        packetsIn,
        packetsOut: 0,
        bytesIn: 0,
        bytesOut: 0,
        drops: { plain: packetsIn },
        latency: { boundsUs: [1], counts: [packetsIn, 0], sumUs: 3 },
        members: new Map(),
      },
    });
    last().outlet.report(metrics(4));
    last().outlet.died('crash');
    await timers.advance(0);
    last().outlet.report(metrics(2));
    const { packetsIn, drops, latency } = await lane.metrics();
    expect([packetsIn, drops.plain, latency.counts[0]]).toEqual([6, 6, 6]);
  });

  test('receives pending orders before a metrics request', async () => {
    const { lane, last } = await arrange();
    lane.order(OPEN);
    await lane.metrics();
    expect(last().ordersAtAsk).toBe(1);
  });

  test('does not restart after it is closed', async () => {
    const { lane, timers, lives, last } = await arrange();
    await lane.close();
    last().outlet.died('late');
    await timers.advance(60_000);
    expect(lives).toHaveLength(1);
  });
});
