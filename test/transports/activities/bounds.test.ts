// Goal: the proxy of activities is bounded in connections, requests and time, for each network also behind a proxy in front.
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { type ActivityProxy, openActivityProxy } from '../../../transports/activities/proxy.ts';

const [APP, OTHER] = ['1574520440439701504', '1574520440439701505'];
/** Below the timeout of a test, so that what does not answer is named. */
const TIMEOUT_MS = 25_000;

let target: Server;
let sockets: WebSocketServer;
let proxy: ActivityProxy;
let handle: (asked: IncomingMessage, answer: ServerResponse) => void = (_, answer) => void answer.end('done');
const faults: unknown[] = [];

const openProxy = (
  trustProxy: boolean,
  bounds: Parameters<typeof openActivityProxy>[0]['bounds'] = {},
): Promise<ActivityProxy> =>
  openActivityProxy({
    ...{ host: '127.0.0.1', port: 0, baseUrl: 'http://localhost', server: () => 'http://127.0.0.1:1' },
    ...{ embedders: [], privateOrigins: new Set<string>(), allowsLoopback: true, extraCa: null },
    ...{ trustProxy, bounds, requestBytesMax: 1_000, onFault: (error: unknown) => faults.push(error) },
    clock: systemClock,
    targetOf: async (_, path) => ({ host: `127.0.0.1:${(target.address() as AddressInfo).port}`, path }),
  });
const hostOf = ({ port }: ActivityProxy = proxy) => `${APP}.localhost:${port}`;

beforeAll(async () => {
  target = http.createServer((asked, answer) => handle(asked, answer));
  sockets = new WebSocketServer({ server: target });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  proxy = await openProxy(false);
});
afterAll(async () => {
  sockets.close();
  target.closeAllConnections();
  target.close();
  await proxy.close();
  expect(faults).toEqual([]);
});

/** The status of an answer that was received whole. */
const statusOf = (
  at: ActivityProxy,
  { agent = false, headers = {} }: { readonly agent?: http.Agent | false; readonly headers?: object } = {},
): Promise<number> =>
  new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port: at.port, agent, timeout: TIMEOUT_MS };
    const sent = http.get({ ...to, headers: { host: hostOf(at), ...headers } }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error('The proxy has not answered the request.')));
  });

/** A WebSocket through the proxy, and `open` or why it is not, so that a failure explains itself. */
function openSocket(at: ActivityProxy, app = APP) {
  const host = `${app}.localhost:${at.port}`;
  const headers = { host, origin: `http://${host}` };
  const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`, { headers, handshakeTimeout: TIMEOUT_MS });
  const outcome = new Promise<string>((resolve) => {
    socket.on('open', () => resolve('open'));
    socket.on('error', ({ message }) => resolve(message));
    socket.on('unexpected-response', (_, answer) => {
      text(answer).then((body) => resolve(`${answer.statusCode} ${body}`), resolve);
    });
  });
  return { socket, outcome };
}

/** Holds every request until it is opened. */
function holding() {
  const held: ServerResponse[] = [];
  let isOpen = false;
  handle = (_, answer) => (isOpen ? answer.end('done') : void held.push(answer));
  return {
    held,
    open() {
      isOpen = true;
      for (const answer of held) answer.end('done');
    },
  };
}

test('the proxy accepts connections up to its bound, and another one after one has ended', async () => {
  const few = await openProxy(false, { connections: 3 });
  const open: Socket[] = [];
  for (let at = 0; at < 3; at += 1) {
    const socket = connect(few.port, '127.0.0.1');
    open.push(socket.on('error', () => undefined));
    await new Promise((resolve) => socket.once('connect', resolve));
  }
  await expect.poll(() => statusOf(few).catch(() => 0)).toBe(0);
  open[0]?.destroy();
  await expect.poll(() => statusOf(few).catch(() => 0)).toBe(200);
  for (const socket of open) socket.destroy();
  await few.close();
});

test('a network has at most 256 requests under way, and another one once they have ended', async () => {
  const { held, open } = holding();
  const many = Array.from({ length: 256 }, () => statusOf(proxy));
  await expect.poll(() => held.length, { timeout: TIMEOUT_MS }).toBe(256);
  expect(await statusOf(proxy)).toBe(503);
  open();
  expect(new Set(await Promise.all(many))).toEqual(new Set([200]));
  expect(await statusOf(proxy)).toBe(200);
});

test('an application has at most 400 requests under way, and another one once they have ended', async () => {
  const behind = await openProxy(true);
  const { held, open } = holding();
  const asked = (network: number) =>
    statusOf(behind, { headers: { 'x-forwarded-for': `203.0.113.${network}` } });
  const many = Array.from({ length: 400 }, (_, at) => asked(at % 4));
  // The proxy has at most 256 connections to one target; the other requests wait for them.
  await expect.poll(() => held.length, { timeout: TIMEOUT_MS }).toBe(256);
  await expect.poll(() => Promise.race([asked(9), sleep(500)]), { timeout: TIMEOUT_MS }).toBe(503);
  open();
  expect((await Promise.all(many)).filter((status) => status === 200).length).toBeGreaterThanOrEqual(399);
  expect(await asked(9)).toBe(200);
  await behind.close();
});

test('requests and WebSockets of a network count together', async () => {
  const few = await openProxy(false, { perNetwork: 3 });
  onTestFinished(() => few.close());
  const { held, open } = holding();
  const many = [statusOf(few), statusOf(few)];
  await expect.poll(() => held.length).toBe(2);
  const { socket, outcome } = openSocket(few);
  expect(await outcome).toBe('open');
  expect(await statusOf(few)).toBe(503);
  open();
  expect(await Promise.all(many)).toEqual([200, 200]);
  expect(await Promise.all([statusOf(few), statusOf(few)])).toEqual([200, 200]);
  socket.terminate();
});

test('each network that a trusted proxy names has at most 256 requests under way', async () => {
  const behind = await openProxy(true);
  const held: ServerResponse[] = [];
  let isOpen = false;
  handle = (_, answer) => (isOpen ? answer.end('done') : void held.push(answer));
  const agent = new http.Agent({ maxSockets: 1_000 });
  const asked = (forwarded: string) => statusOf(behind, { agent, headers: { 'x-forwarded-for': forwarded } });
  // The client's own forwarding header precedes the entry that the proxy appends.
  const many = Array.from({ length: 256 }, (_, at) => asked(`9.9.9.${at % 200}, 203.0.113.7`));
  await expect.poll(() => held.length, { timeout: TIMEOUT_MS }).toBe(256);
  expect(await asked('8.8.8.8, 203.0.113.7')).toBe(503);
  isOpen = true;
  // All of these connections are of one address; the proxy to the target has no free one, so this waits for them.
  const another = asked('203.0.113.8');
  for (const answer of held) answer.end('done');
  expect(await another).toBe(200);
  expect(new Set(await Promise.all(many))).toEqual(new Set([200]));
  expect(await asked('203.0.113.7')).toBe(200);
  agent.destroy();
  await behind.close();
});

test('an application has at most so many WebSockets, and another one once one has ended', async () => {
  const few = await openProxy(false, { socketsPerApplication: 2 });
  onTestFinished(() => few.close());
  const opened: WebSocket[] = [];
  const open = async (app: string): Promise<string> => {
    const { socket, outcome } = openSocket(few, app);
    if ((await outcome) === 'open') opened.push(socket);
    return outcome;
  };
  const outcomes: string[] = [];
  for (const app of [APP, APP, APP, OTHER]) outcomes.push(await open(app));
  const TOO_MUCH = expect.stringMatching(/^503 .*too much under way/);
  expect(outcomes).toEqual(['open', 'open', TOO_MUCH, 'open']);
  opened[0]?.terminate();
  await expect.poll(() => open(APP), { timeout: 10_000 }).toBe('open');
});

describe('the proxy', () => {
  let hasty: ActivityProxy;
  afterEach(() => hasty.close());
  test('times out a target that does not respond or stops sending', async () => {
    hasty = await openProxy(false, { targetMs: 100 });
    handle = () => undefined;
    expect(await statusOf(hasty)).toBe(502);
    handle = (_, answer) => void answer.write('some');
    await expect(statusOf(hasty)).rejects.toThrow();
  });

  test('bounds the duration of an exchange that never stops sending', async () => {
    hasty = await openProxy(false, { exchangeMs: 300 });
    handle = (_, answer) => {
      const drip = setInterval(() => answer.write('x'), 20);
      answer.on('close', () => clearInterval(drip));
    };
    await expect(statusOf(hasty)).rejects.toThrow();
  });

  test('closes an idle WebSocket, and keeps an active one open', async () => {
    hasty = await openProxy(false, { socketIdleMs: 300 });
    const { socket, outcome } = openSocket(hasty);
    let isOpen = true;
    const closed = new Promise((resolve) =>
      socket.on('close', () => {
        isOpen = false;
        resolve(null);
      }),
    );
    expect(await outcome).toBe('open');
    for (let n = 0; n < 10; n += 1) {
      socket.send('x');
      await sleep(60);
    }
    expect(isOpen).toBe(true);
    await closed;
  });
});
