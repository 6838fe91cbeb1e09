// Goal: the load client of `npm run bench:sessions` counts each message once, however the network cuts its stream, and resumes.
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { markOf, stampOf } from '../../bench/gateway/stamp.ts';
import { Client, delayAt } from '../../bench/sessions/client.ts';
import { compileClient } from '../../bench/sessions/compile.ts';
import { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const SESSIONS = 6;
const RUN = 'cafe';
/** Bytes of one write to the client; a prime, so that frames are cut at all of their bytes. */
const PIECE_BYTES = 37;

let server: TestServer;
let folder: string;
let program: string;
const open = new Set<Socket>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-client-'));
  program = compileClient(folder);
  server = await startServer({ bots: 2, relayed: false });
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.finish();
});

/** Writes what arrives in small pieces, one in each turn of the event loop. */
async function writeInPieces(bytes: Buffer, to: Socket): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    to.write(bytes.subarray(at, at + PIECE_BYTES));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Stands between the client and the server. */
async function cuttingProxy(port: number): Promise<Server> {
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.setNoDelay(true);
    open.add(client);
    let writing = Promise.resolve();
    upstream.on('data', (bytes) => {
      writing = writing.then(() => writeInPieces(bytes, client));
    });
    client.pipe(upstream);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
    client.on('close', () => open.delete(client));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  return proxy;
}

async function write(number: number): Promise<void> {
  const { bot, guild } = server.info;
  const rest = new RestClient(server.info.api, `Bot ${bot.token}`);
  const content = stampOf(RUN, number, Math.floor(Number(process.hrtime.bigint() / 1000n)));
  const params = { channel_id: guild.text_channel_id };
  const { status } = await rest.ask('create_message', { params, body: { content } });
  expect(status).toBe(200);
}

describe('the load client', () => {
  test('counts each message once, however the stream is cut, and resumes without a gap', {
    timeout: 60_000,
  }, async () => {
    const proxy = await cuttingProxy(Number(new URL(server.info.gateway).port));
    const { token } = server.info.bot;
    const client = new Client({
      ...{ program, sourceAddress: '127.0.0.3', perSecond: 50, mark: markOf(RUN) },
      gateway: new URL(`ws://127.0.0.1:${(proxy.address() as AddressInfo).port}`),
      tokens: Array.from({ length: SESSIONS }, () => token),
      tokensFile: join(folder, 'tokens'),
    });
    onTestFinished(() => client.stop());
    const counts = (expected: object) =>
      vi.waitFor(() => expect(client.counts).toMatchObject(expected), { timeout: 20_000, interval: 100 });
    await counts({ ready: SESSIONS, identified: SESSIONS });
    for (let number = 0; number < 5; number += 1) await write(number);
    await counts({ messages: 5 * SESSIONS, lost: 0, doubled: 0, invalid: 0 });

    for (const socket of open) socket.resetAndDestroy();
    await write(5);
    await counts({ ready: SESSIONS, identified: SESSIONS, resumed: SESSIONS, messages: 6 * SESSIONS });
    expect(client.counts).toMatchObject({ closed: SESSIONS, lost: 0, doubled: 0, invalid: 0 });

    const delays = await client.lap();
    expect(delays.reduce((sum, [, count]) => sum + count, 0)).toBe(6 * SESSIONS);
    expect(delayAt(1, [delays])).toBeLessThan(20_000);
    expect(await client.lap()).toEqual([]);
  });

  test('is not compiled without a compiler, and says so', () => {
    vi.stubEnv('CC', '/no/such/compiler');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => compileClient(folder)).toThrow(/needs a C compiler/);
  });
});

describe('delays', () => {
  test('are the smallest that a share of all messages does not exceed', () => {
    const laps = [
      [
        [1, 90],
        [7, 5],
      ],
      [[3, 5]],
    ] as const;
    expect([0.5, 0.9, 0.95, 0.96, 1].map((share) => delayAt(share, laps))).toEqual([1, 1, 3, 7, 7]);
    expect(delayAt(0.99, [])).toBe(0);
  });
});
