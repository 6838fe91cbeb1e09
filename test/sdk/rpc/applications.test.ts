// Goal: pages of any origin cannot use up the requests about applications that the server allows the person.
import { beforeEach, expect, test } from 'vitest';
import { RPC_CLOSE } from '../../../protocol/rpc.ts';
import { Applications } from '../../../sdk/rpc/applications.ts';

let nowMs: number;
let asked: string[];
let answer: { readonly status: number; readonly body: unknown };
let applications: Applications;
beforeEach(() => {
  [nowMs, asked] = [0, []];
  answer = { status: 200, body: { name: 'Game', rpc_origins: ['https://game.example.org'] } };
  applications = new Applications({
    nowMs: () => nowMs,
    call: async (_, path) => {
      asked.push(path);
      return answer;
    },
  });
});
const codeOf = (clientId: string, isOfPage: boolean) =>
  applications.of(clientId, isOfPage).then(
    () => null,
    (error: { code: number }) => error.code,
  );

test('pages ask for five applications in ten seconds, and games for as many as they need', async () => {
  const codes = [];
  for (let n = 0; n < 40; n += 1) codes.push(await codeOf(String(n), true));
  expect(codes).toEqual([...Array(5).fill(null), ...Array(35).fill(RPC_CLOSE.RATELIMITED)]);
  expect(await codeOf('5001', false)).toBeNull();
  expect(await codeOf('0', true)).toBeNull();
  expect(asked).toHaveLength(6);
  nowMs = 10_000;
  expect(await codeOf('5002', true)).toBeNull();
});

test('a response is cached for ten seconds, also for an unknown application', async () => {
  for (let n = 0; n < 3; n += 1)
    expect((await applications.of('5001', true)).origins).toEqual(['https://game.example.org']);
  answer = { status: 404, body: {} };
  for (let n = 0; n < 3; n += 1) expect(await codeOf('404', false)).toBe(RPC_CLOSE.INVALID_CLIENTID);
  expect(asked).toHaveLength(2);
  nowMs = 10_000;
  expect(await codeOf('5001', true)).toBe(RPC_CLOSE.INVALID_CLIENTID);
});

test('a failed look-up is not cached', async () => {
  answer = { status: 503, body: null };
  expect(await codeOf('5001', false)).toBe(RPC_CLOSE.ABNORMAL);
  answer = { status: 200, body: { name: 'Game' } };
  expect(await codeOf('5001', false)).toBeNull();
});
