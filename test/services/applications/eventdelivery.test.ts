// Goal: each queued webhook event is sent in order until the application acknowledges it, by the owner alone, and not for ever.
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { WebhookEvent } from '../../../engine/application/webhookevents.ts';
import type { Application } from '../../../engine/user/facts.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { DeliveryLog } from '../../../services/applications/deliverylog.ts';
import type { EndpointAnswer } from '../../../services/applications/endpoint.ts';
import { EventDelivery } from '../../../services/applications/eventdelivery.ts';

const A = '10' as ApplicationId;
const B = '20' as ApplicationId;
const URL_OF_APPLICATION = 'https://game.test/events';
const MINUTE_MS = 60_000;
const STEP_MS = 50;
const ATTEMPTS_MAX = 1_000;
const ACKNOWLEDGED: EndpointAnswer = { ok: true, status: 204, contentType: null, body: new Uint8Array() };
const FAILED: EndpointAnswer = { ok: false, reason: 'unreachable' };

let clock: VirtualClock;
let scope: Lifetime;
let queue: WebhookEvent[];
let application: { -readonly [K in keyof Application]?: Application[K] };
let sent: { url: string; id: string }[];
let answer: (url: string, id: string) => EndpointAnswer | Promise<EndpointAnswer>;
let owned: Set<string>;
let disabled: string[];
let faults: unknown[];
/** Whether the database fails. */
let isBroken: boolean;
let moved: () => void;

beforeEach(() => {
  clock = new VirtualClock();
  scope = new Lifetime(clock);
  queue = [];
  application = { event_webhooks_status: 2, event_webhooks_url: URL_OF_APPLICATION };
  sent = [];
  answer = () => ACKNOWLEDGED;
  owned = new Set([A, B]);
  disabled = [];
  faults = [];
  isBroken = false;
});

const event = (id: string, more: Partial<WebhookEvent> = {}): WebhookEvent => ({
  ...{ id, applicationId: A, type: 'APPLICATION_DEAUTHORIZED', atMs: clock.now(), data: { number: id } },
  ...more,
});

const waiting = () => [...new Set(queue.map(({ applicationId }) => applicationId))].toSorted();

function open(): EventDelivery {
  const delivery = new EventDelivery({
    events: {
      async pending(id, limit) {
        if (isBroken) throw new Error('The database is gone.');
        return queue.filter((each) => each.applicationId === id).slice(0, limit);
      },
      drop: async (id, upTo) => {
        queue = queue.filter((each) => each.applicationId !== id || BigInt(each.id) > BigInt(upTo));
      },
      waiting: async (after) => waiting().filter((id) => after === null || BigInt(id) > BigInt(after)),
      expire: async () => undefined,
    },
    applications: { get: async (id) => ({ ...application, id }) as Application },
    sender: {
      post: async (_, url, body) => {
        const { event: one } = body as { event: { id: string } };
        sent.push({ url, id: one.id });
        return answer(url, one.id);
      },
    },
    routing: {
      owns: (id) => owned.has(id),
      onMoved: (run) => {
        moved = () => run(() => true);
      },
      tell: (_, run) => run,
    },
    ...{ wheel: new TimerWheel(clock), scope },
    nowMs: () => clock.now(),
    random: () => 1,
    disable: async ({ id }) => {
      disabled.push(id);
      application.event_webhooks_status = 3;
    },
    onFault: (error) => faults.push(error),
  });
  delivery.start();
  return delivery;
}

const ids = () => sent.map(({ id }) => id);

/** Moves time in steps, and lets promises run after each. */
async function advance(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
    clock.advance(Math.min(STEP_MS, ms - passedMs));
    await turn();
  }
}
const settle = async (): Promise<void> => {
  for (let step = 0; step < 5; step += 1) await advance(20);
};

describe('the log of delivery attempts', () => {
  test('contains each attempt with its response, newest first, without the path of the URL', async () => {
    queue = [event('1'), event('2')];
    let failures = 1;
    answer = (_, id) => {
      failures -= 1;
      if (failures >= 0) return FAILED;
      return id === '1' ? { ...ACKNOWLEDGED, status: 500 } : ACKNOWLEDGED;
    };
    const delivery = open();
    await advance(2_500);
    const attempts = delivery.attempts(null, 10);
    expect(
      attempts.map(({ number, eventId, attempt, status, failure }) => [
        number,
        eventId,
        attempt,
        status,
        failure,
      ]),
    ).toEqual([
      [2, '1', 2, 500, null],
      [1, '1', 1, null, 'unreachable'],
    ]);
    expect(attempts[0]).toMatchObject({ applicationId: A, type: 'APPLICATION_DEAUTHORIZED', tookMs: 0 });
    expect(JSON.stringify(attempts)).not.toContain('/events');
    expect(delivery.attempts(2, 10).map(({ number }) => number)).toEqual([1]);
  });

  test('keeps the newest thousand, in pages of any size', () => {
    fc.assert(
      fc.property(fc.nat(3 * ATTEMPTS_MAX), fc.integer({ min: 1, max: 700 }), (count, limit) => {
        const log = new DeliveryLog();
        const facts = { eventId: '1', applicationId: A, type: 'T', atMs: 0, tookMs: 0, attempt: 1 };
        for (let at = 0; at < count; at += 1) log.add(facts, URL_OF_APPLICATION, ACKNOWLEDGED);
        const numbers: number[] = [];
        for (let page = log.page(null, limit); page.length > 0; page = log.page(page.at(-1)!.number, limit))
          numbers.push(...page.map(({ number }) => number));
        const kept = Math.min(count, ATTEMPTS_MAX);
        expect(numbers).toEqual(Array.from({ length: kept }, (_, at) => count - at));
      }),
      { numRuns: 30 },
    );
  });
});

describe('events for an application', () => {
  test('are sent at the start if an earlier run left them, and deleted when they are acknowledged', async () => {
    queue = [event('1'), event('2'), event('3', { applicationId: B })];
    open();
    await settle();
    expect([ids().toSorted(), queue, faults]).toEqual([['1', '2', '3'], [], []]);
    expect(sent[0]?.url).toBe(URL_OF_APPLICATION);
  });

  test('are sent as soon as they are durable', async () => {
    const delivery = open();
    await settle();
    queue.push(event('1'));
    delivery.queued([A]);
    await settle();
    expect(ids()).toEqual(['1']);
  });

  test('are sent one at a time and in order, without delaying another application', async () => {
    let release: (value: EndpointAnswer) => void = () => undefined;
    const held = new Promise<EndpointAnswer>((resolve) => {
      release = resolve;
    });
    answer = (_, id) => (id === '1' ? held : ACKNOWLEDGED);
    queue = [event('1'), event('2'), event('3', { applicationId: B })];
    open();
    await settle();
    expect(ids().toSorted()).toEqual(['1', '3']);
    release(ACKNOWLEDGED);
    await settle();
    expect(ids().at(-1)).toBe('2');
  });

  test('count failed attempts in a row, until one succeeds', async () => {
    answer = () => FAILED;
    queue = [event('1')];
    const startMs = clock.now();
    const delivery = open();
    expect(delivery.failing(A)).toBeNull();
    await settle();
    expect(delivery.failing(A)).toMatchObject({ attempts: 1 });
    expect(delivery.failing(A)!.sinceMs).toBeGreaterThanOrEqual(startMs);
    expect(delivery.failing(B)).toBeNull();
    answer = () => ACKNOWLEDGED;
    await advance(MINUTE_MS);
    expect([delivery.failing(A), queue]).toEqual([null, []]);
  });

  test('are retried after doubling delays, before any later event is sent', async () => {
    answer = () => FAILED;
    queue = [event('1'), event('2')];
    open();
    await settle();
    const counts: number[] = [];
    for (let second = 0; second < 20; second += 1) {
      await advance(1_000);
      counts.push(sent.length);
    }
    // Attempts after 1, 2, 4 and 8 seconds.
    expect([sent.length, new Set(ids())]).toEqual([5, new Set(['1'])]);
    expect([counts[1], counts[3], counts[7], counts[15]]).toEqual([2, 3, 4, 5]);
    expect([counts[0], counts[2], counts[6], counts[14]]).toEqual([1, 2, 3, 4]);
    answer = () => ACKNOWLEDGED;
    await advance(20_000);
    expect([ids().slice(5), queue]).toEqual([['1', '2'], []]);
  });

  test.each([
    ['a status other than 204', { ok: true, status: 200, contentType: null, body: new Uint8Array() }],
    ['a timeout', { ok: false, reason: 'timeout' }],
  ] as [string, EndpointAnswer][])('are retried after %s', async (_, given) => {
    answer = () => given;
    queue = [event('1')];
    open();
    await settle();
    answer = () => ACKNOWLEDGED;
    await advance(2_000);
    expect([ids(), queue]).toEqual([['1', '1'], []]);
  });

  test('are disabled after ten minutes of failures, and wait until they are enabled again', async () => {
    answer = () => FAILED;
    queue = [event('1')];
    open();
    await advance(9 * MINUTE_MS);
    expect(disabled).toEqual([]);
    await advance(4 * MINUTE_MS);
    expect(disabled).toEqual([A]);
    const attempts = sent.length;
    await advance(30 * MINUTE_MS);
    expect([sent.length, queue.length]).toEqual([attempts, 1]);
    application.event_webhooks_status = 2;
    answer = () => ACKNOWLEDGED;
    await advance(6 * MINUTE_MS);
    expect([queue, faults]).toEqual([[], []]);
  });

  test('are not disabled by one failed attempt after a database failure', async () => {
    [isBroken, queue] = [true, [event('1')]];
    open();
    await settle();
    expect(faults).toHaveLength(1);
    isBroken = false;
    answer = () => FAILED;
    await advance(2_000);
    expect([ids(), disabled]).toEqual([['1'], []]);
    answer = () => ACKNOWLEDGED;
    await advance(5_000);
    expect([queue, disabled]).toEqual([[], []]);
  });

  test('are not disabled by one failed attempt at a URL that replaced a failing one', async () => {
    answer = () => FAILED;
    queue = [event('1')];
    open();
    await advance(9 * MINUTE_MS);
    application.event_webhooks_url = 'https://game.test/new';
    await advance(3 * MINUTE_MS);
    expect(sent.at(-1)?.url).toBe('https://game.test/new');
    expect(disabled).toEqual([]);
    await advance(12 * MINUTE_MS);
    expect(disabled).toEqual([A]);
  });

  test('are retried again at a lobby’s URL after one success has followed its failures', async () => {
    const lobby = { url: 'https://lobby.test/' };
    answer = () => FAILED;
    queue = [event('1', lobby)];
    const delivery = open();
    await advance(13 * MINUTE_MS);
    expect(queue).toEqual([]);
    answer = () => ACKNOWLEDGED;
    const next = async (id: string) => {
      queue = [event(id, lobby)];
      delivery.queued([A]);
      await settle();
    };
    await next('2');
    answer = () => FAILED;
    await next('3');
    answer = () => ACKNOWLEDGED;
    await advance(2_000);
    expect([ids().slice(-3), queue]).toEqual([['2', '3', '3'], []]);
  });

  test('are sent to the URL of their lobby, whose failures do not disable others', async () => {
    const lobby = { url: 'https://lobby.test/' };
    answer = (url) => (url === lobby.url ? FAILED : ACKNOWLEDGED);
    queue = [event('1', lobby), event('2')];
    const delivery = open();
    await advance(13 * MINUTE_MS);
    expect([disabled, queue, ids().at(-1)]).toEqual([[], [], '2']);
    const before = sent.length;
    queue = [event('3', lobby), event('4')];
    delivery.queued([A]);
    await settle();
    expect(ids().slice(before)).toEqual(['3', '4']);
  });

  test('older than a day are not sent', async () => {
    queue = [event('1', { atMs: clock.now() - 25 * 60 * MINUTE_MS }), event('2')];
    open();
    await settle();
    expect([ids(), queue]).toEqual([['2'], []]);
  });

  test('are sent only by the owner shard of the application, also when the owner changes', async () => {
    owned = new Set();
    queue = [event('1')];
    const delivery = open();
    delivery.queued([A]);
    await settle();
    expect(ids()).toEqual([]);
    owned.add(A);
    moved();
    await settle();
    expect(ids()).toEqual(['1']);
    answer = () => FAILED;
    queue = [event('2')];
    delivery.queued([A]);
    await settle();
    owned.delete(A);
    await advance(10 * MINUTE_MS);
    expect([ids(), delivery.size]).toEqual([['1', '2'], 0]);
  });

  test('are not sent after another shard has become the owner', async () => {
    queue = [event('1'), event('2')];
    answer = () => {
      owned.delete(A);
      return ACKNOWLEDGED;
    };
    open();
    await settle();
    expect([ids(), queue.map(({ id }) => id)]).toEqual([['1'], ['2']]);
  });

  test('are sent later when their notification was lost', async () => {
    open();
    await settle();
    queue = [event('1')];
    await advance(6 * MINUTE_MS);
    expect(ids()).toEqual(['1']);
  });

  test('are not sent after the stop', async () => {
    answer = () => FAILED;
    queue = [event('1')];
    const delivery = open();
    await settle();
    await scope.close();
    delivery.queued([A]);
    await advance(MINUTE_MS);
    expect(ids()).toEqual(['1']);
  });
});
