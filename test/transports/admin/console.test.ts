// Goal: a link of the console opens one session, once and for a time; its history and log are bounded; top reads the metrics.
import { describe, expect, test } from 'vitest';
import { ratesOf, readingOf, topLines } from '../../../cli/toprates.ts';
import { createLogTail } from '../../../protocol/logtail.ts';
import { createConsole } from '../../../transports/admin/console.ts';
import type { AdminRequest } from '../../../transports/admin/port.ts';
import { sampleOf } from '../../../transports/admin/sample.ts';

const MINUTE_MS = 60_000;
const HOST = '127.0.0.1:3001';

const request = (more: Partial<AdminRequest>): AdminRequest => ({
  ...{ method: 'POST', path: '/console/code', query: new URLSearchParams(), target: '/console/code' },
  ...{ contentType: '', authorization: '', accept: '', origin: `http://${HOST}`, host: HOST, tokenName: '' },
  readBody: async () => Buffer.alloc(0),
  ...more,
});

function arrange() {
  const clock = { ms: 0 };
  const page = createConsole(() => clock.ms);
  const code = new URL(page.signInLink(`http://${HOST}`)).hash.slice('#code='.length);
  const exchange = (more: Partial<AdminRequest> = {}) =>
    page.open(request({ authorization: `Code ${code}`, ...more }))?.status;
  return { clock, page, exchange };
}

describe('a link of the console', () => {
  test('opens one session, which ends after twelve hours', () => {
    const { clock, page, exchange } = arrange();
    expect(exchange()).toBe(200);
    expect(page.sessions()).toMatchObject([{ name: 'console_link' }]);
    expect(exchange()).toBe(401);
    clock.ms = 12 * 60 * MINUTE_MS;
    expect(page.sessions()).toEqual([]);
  });

  test('ends after fifteen minutes', () => {
    const { clock, exchange } = arrange();
    clock.ms = 15 * MINUTE_MS;
    expect(exchange()).toBe(401);
  });

  test('is exchanged only by pages of the admin port', () => {
    const { exchange } = arrange();
    for (const origin of ['http://other.test', 'null', null]) expect(exchange({ origin })).toBe(401);
    expect(exchange()).toBe(200);
  });

  test('leaves requests of the API to the API', () => {
    const { page } = arrange();
    expect(page.open(request({ method: 'GET', path: '/users' }))).toBeNull();
    expect(page.open(request({ method: 'GET', path: '/', accept: '*/*' }))).toBeNull();
  });
});

describe('the history of the console', () => {
  test('sums each chosen metric over its labels', () => {
    const text = '# HELP x y\nguildhall_calls{a="1"} 2\nguildhall_calls{a="2"} 3\nother 9\n';
    expect(sampleOf(text, 5)).toEqual({ at_ms: 5, values: { guildhall_calls: 5 } });
  });

  test('keeps the maximum of loss and jitter over calls', () => {
    const text =
      'guildhall_call_worst_loss{call="1",user="2"} 0.02\nguildhall_call_worst_loss{call="1",user="3"} 0.5\n';
    expect(sampleOf(text, 5).values).toEqual({ guildhall_call_worst_loss: 0.5 });
  });

  test('bounds the log in lines and characters', () => {
    const tail = createLogTail();
    for (let line = 1; line <= 1100; line++) tail.add(`${line} ${'x'.repeat(5000)}\n`);
    const lines = tail.after(0);
    expect([lines.length, lines[0]?.number, lines.at(-1)?.text.length]).toEqual([1000, 101, 4000]);
    expect(tail.after(1099).map(({ number }) => number)).toEqual([1100]);
  });
});

test('top shows rates between two readings, the slowest operation first', () => {
  const text = (frames: number, requests: number) =>
    [
      'guildhall_gateway_sessions 7',
      `guildhall_gateway_frames_sent ${frames}`,
      `guildhall_http_request_seconds_count{operation="get_user",status="2xx"} ${requests}`,
      `guildhall_http_request_seconds_sum{operation="get_user",status="2xx"} ${requests * 0.002}`,
      `guildhall_http_request_seconds_count{operation="create_message",status="2xx"} ${requests}`,
      `guildhall_http_request_seconds_sum{operation="create_message",status="2xx"} ${requests * 0.03}`,
    ].join('\n');
  const rates = ratesOf(readingOf(text(100, 10), 0), readingOf(text(300, 20), 2000));
  expect(rates).toMatchObject({ sessions: 7, events_per_sec: 100, requests_per_sec: 10 });
  expect(rates.slow.map(({ operation, mean_ms }) => [operation, Math.round(mean_ms)])).toEqual([
    ['create_message', 30],
    ['get_user', 2],
  ]);
  expect(topLines(rates).join('\n')).toMatch(/sessions 7 {3}events\/s 100/);
});
