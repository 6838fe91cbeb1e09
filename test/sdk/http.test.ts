// Goal: every HTTP call ends in time and says how; what a server asks for in a 429 is done, and a late answer is none.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { deferred } from '../../sdk/deferred.ts';
import { ErrorType } from '../../sdk/enums.ts';
import { Http, path, refusalOf } from '../../sdk/http.ts';
import { Log } from '../../sdk/log.ts';
import { refusal } from '../support/sdk.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

function http(fetch: Fetch, authorization: string | null = 'Bearer token') {
  let unauthorized = 0;
  const made = new Http({
    apiBase: 'http://server.test/api/v10',
    fetch: ((url: unknown, init: unknown) =>
      fetch(String(url), init as RequestInit)) as typeof globalThis.fetch,
    log: new Log(false),
    authorization: () => authorization,
    unauthorized: () => unauthorized++,
  });
  return { http: made, unauthorized: () => unauthorized };
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });
const never = () => new Promise<Response>(() => {});
const get = { method: 'GET', path: '/thing' } as const;

describe('a call', () => {
  test('sends its method, address, headers and body with the chosen token', async () => {
    const seen: unknown[] = [];
    const { http: client } = http(async (url, { method, headers, body }) => {
      seen.push([method, url, headers, body]);
      return json({ fine: true });
    });
    await client.call({ method: 'POST', path: '/a', query: { x: 1, y: undefined, z: 'ä&' }, body: { b: 1 } });
    await client.call({ method: 'POST', path: '/t', form: { grant_type: 'a b' }, as: 'nobody' });
    await client.call({ method: 'GET', path: '/m', as: { token: 'Bearer other' } });
    const base = 'http://server.test/api/v10';
    expect(seen).toEqual([
      [
        'POST',
        `${base}/a?x=1&z=%C3%A4%26`,
        { authorization: 'Bearer token', 'content-type': 'application/json' },
        '{"b":1}',
      ],
      ['POST', `${base}/t`, { 'content-type': 'application/x-www-form-urlencoded' }, 'grant_type=a+b'],
      ['GET', `${base}/m`, { authorization: 'Bearer other' }, undefined],
    ]);
  });

  test('is not made without a token', async () => {
    const { http: client } = http(never, null);
    expect((await refusal(client.call(get))).type).toBe(ErrorType.ClientNotReady);
  });

  test('resolves with the body of the answer, and with undefined for no content', async () => {
    const { http: client } = http(async (url) =>
      url.endsWith('/none') ? new Response(null, { status: 204 }) : json([1]),
    );
    expect(await client.call(get)).toEqual([1]);
    expect(await client.call({ method: 'DELETE', path: '/none' })).toBeUndefined();
  });

  test('is refused when it is not answered in JSON', async () => {
    const { http: client } = http(async () => new Response('<html>', { status: 200 }));
    expect((await refusal(client.call(get))).result).toMatchObject({
      type: ErrorType.HTTPError,
      status: 200,
    });
  });

  test('stops reading an answer that is too long', async () => {
    const megabyte = new Uint8Array(1_048_576);
    let pulled = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(megabyte);
      },
    });
    const { http: client } = http(async () => new Response(endless));
    expect((await refusal(client.call(get))).message).toBe('The response is too large.');
    expect(pulled).toBeLessThan(30);
  });

  test('reports that the server rejects the token of the client, but not a rejected other token', async () => {
    const { http: client, unauthorized } = http(async () =>
      json({ message: '401: Unauthorized', code: 0 }, 401),
    );
    await refusal(client.call({ ...get, as: { token: 'Bearer other' } }));
    expect(unauthorized()).toBe(0);
    await refusal(client.call(get));
    expect(unauthorized()).toBe(1);
  });
});

describe('the time-out', () => {
  test('is 30 seconds, and can be set', async () => {
    const { http: client } = http(never);
    const first = refusal(client.call(get));
    await vi.advanceTimersByTimeAsync(29_999);
    client.timeoutMs = 50;
    const second = refusal(client.call(get));
    await vi.advanceTimersByTimeAsync(50);
    for (const { result } of [await first, await second])
      expect(result).toMatchObject({ type: ErrorType.NetworkError, retryable: true, status: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 31])('is not %d', (ms) => {
    const { http: client } = http(never);
    expect(() => {
      client.timeoutMs = ms;
    }).toThrow(RangeError);
  });

  test('covers the body too, and servers that ignore the abort', async () => {
    const stuck = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('[')),
    });
    const { http: client } = http(async () => new Response(stuck));
    const refused = refusal(client.call(get));
    await vi.advanceTimersByTimeAsync(30_000);
    expect((await refused).type).toBe(ErrorType.NetworkError);
  });

  test('rejects even when an answer arrives at the same moment', async () => {
    const { promise, resolve } = deferred<Response>();
    const { http: client } = http(() => promise);
    const refused = refusal(client.call(get));
    await vi.advanceTimersByTimeAsync(29_999);
    vi.advanceTimersByTime(1);
    resolve(json({ fine: true }));
    expect((await refused).type).toBe(ErrorType.NetworkError);
  });

  test('does not delay a call that is aborted', async () => {
    const { http: client } = http(
      (_, { signal }) =>
        new Promise((__, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    const ends = new AbortController();
    const refused = refusal(client.call({ ...get, signal: ends.signal }));
    ends.abort();
    expect((await refused).type).toBe(ErrorType.Aborted);
    const destroyed = refusal(client.call(get));
    client.destroy();
    expect((await destroyed).type).toBe(ErrorType.ClientDestroyed);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a 429', () => {
  const busy = (sec: number, more: object = {}) =>
    json({ message: 'You are being rate limited.', retry_after: sec, global: false, ...more }, 429);

  test('is waited out', async () => {
    const times: number[] = [];
    const { http: client } = http(async () => {
      times.push(Date.now());
      return times.length === 1 ? busy(2.5) : json('fine');
    });
    const answered = client.call(get);
    await vi.advanceTimersByTimeAsync(2500);
    expect(await answered).toBe('fine');
    expect(times[1]! - times[0]!).toBe(2500);
  });

  test('holds back its route, and all routes when it is global', async () => {
    const asked: string[] = [];
    let global = false;
    const { http: client } = http(async (url) => {
      asked.push(url.slice(-2));
      return asked.length === 1 ? busy(10, { global }) : json('fine');
    });
    const first = client.call({ method: 'GET', path: '/a' });
    await vi.advanceTimersByTimeAsync(1);
    const same = client.call({ method: 'GET', path: '/a' });
    await client.call({ method: 'GET', path: '/b' });
    expect(asked).toEqual(['/a', '/b']);
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all([first, same]);
    asked.length = 0;
    global = true;
    const held = client.call({ method: 'GET', path: '/a' });
    await vi.advanceTimersByTimeAsync(1);
    const other = client.call({ method: 'GET', path: '/b' });
    await vi.advanceTimersByTimeAsync(9000);
    expect(asked).toEqual(['/a']);
    await vi.advanceTimersByTimeAsync(1000);
    await Promise.all([held, other]);
  });

  test('longer than the time-out is refused at once, and so is the next call', async () => {
    let asked = 0;
    const { http: client } = http(async () => {
      asked++;
      return busy(7200);
    });
    for (let times = 0; times < 2; times++) {
      const { result } = await refusal(client.call(get));
      expect(result).toMatchObject({ status: 429, retryable: true });
      expect(result.retryAfter).toBeCloseTo(7200, 0);
    }
    expect(asked).toBe(1);
  });

  test('ends with the time-out if it is repeated without end', async () => {
    const { http: client } = http(async () => busy(0));
    const refused = refusal(client.call(get));
    await vi.advanceTimersByTimeAsync(31_000);
    expect((await refused).result.retryable).toBe(true);
  });
});

describe('a refusal', () => {
  test.each([
    [400, { code: 530010, message: 'Linked' }, { errorCode: 530010, error: 'Linked', retryable: false }],
    [
      400,
      { error: 'invalid_grant', error_description: 'Invalid "refresh_token" in request' },
      { error: 'invalid_grant: Invalid "refresh_token" in request', errorCode: 0 },
    ],
    [502, '<html>', { error: 'The server answered 502.', retryable: true }],
    [423, { code: 0, message: 'Locked' }, { retryable: true }],
  ])('%i %j is read', (status, body, expected) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    expect(refusalOf(new Response(text, { status }), text).result).toMatchObject({ status, ...expected });
  });

  test('is parsed from any answer', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.integer({ min: 400, max: 599 }), (text, status) => {
        const { result } = refusalOf(new Response('', { status }), text);
        expect(result.error).not.toBe('');
        expect(Number.isFinite(result.retryAfter)).toBe(true);
        expect(Number.isFinite(result.errorCode)).toBe(true);
      }),
    );
  });
});

test('ids in a path lead nowhere else', () => {
  expect(path`/lobbies/${'../users'}/x/${'1?a=b'}`).toBe('/lobbies/..%2Fusers/x/1%3Fa%3Db');
});
