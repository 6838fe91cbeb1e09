// Goal: the rest of a rejected body is dropped within bounds of time and bytes, and leaves no timer.
import { beforeEach, expect, test } from 'vitest';
import { BodyMemory, BodyStream } from '../../../transports/http/body.ts';
import type { Exchange } from '../../../transports/http/exchange.ts';

const BYTES_MAX = 10;
const DRAIN_MS = 2_000;
const MEMORY = { bytesMax: 1_000, reservedBytes: 500, addressBytesMax: 100, userBytesMax: 100 };

/** Timers that were set and neither ran nor were cancelled. */
const timers = new Set<{ readonly delayMs: number; run(): void }>();
beforeEach(() => timers.clear());

function setTimer(run: () => void, delayMs: number) {
  const timer = {
    delayMs,
    run() {
      timers.delete(timer);
      run();
    },
  };
  timers.add(timer);
  return { cancel: () => void timers.delete(timer) };
}

/** A body that is rejected because it exceeds its bound. */
function refused() {
  let receive: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined;
  let abort = () => {};
  const exchange = {
    ...{ announcedBytes: null, over: false, bodyIsRead() {} },
    onAbort(listener: () => void) {
      abort = () => {
        exchange.over = true;
        listener();
      };
    },
    res: {
      ...{ pause() {}, resume() {} },
      onData(listener: typeof receive) {
        receive = listener;
      },
    },
  };
  const account = new BodyMemory(MEMORY, () => 0).open('192.0.2.1');
  const bounds = { bytesMax: BYTES_MAX, timeoutMs: 30_000 };
  const body = new BodyStream(exchange as unknown as Exchange, bounds, account, { setTimer });
  const chunk = (bytes: number, isLast = false) => receive(new ArrayBuffer(bytes), isLast);
  chunk(BYTES_MAX + 1);
  return { chunk, abort: () => abort(), isRead: body.discard() };
}

test('a rejected body is drained for two seconds at most', async () => {
  const { isRead } = refused();
  expect([...timers].map(({ delayMs }) => delayMs)).toEqual([DRAIN_MS]);
  for (const timer of timers) timer.run();
  expect(await isRead).toBe(false);
  expect(timers.size).toBe(0);
});

test.each<[string, boolean, (body: ReturnType<typeof refused>) => void]>([
  ['the body has ended', true, ({ chunk }) => chunk(1, true)],
  ['more was received than is drained', false, ({ chunk }) => chunk((1 << 20) + 1)],
  ['the client has disconnected', false, ({ abort }) => abort()],
])('no timer is left when %s', async (_, isWhole, end) => {
  const body = refused();
  expect(timers.size).toBe(1);
  end(body);
  expect(await body.isRead).toBe(isWhole);
  expect(timers.size).toBe(0);
});
