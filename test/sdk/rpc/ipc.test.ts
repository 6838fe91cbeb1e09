// Goal: the local socket belongs to its user, survives crashed servers and hostile streams, and carries the presence of a game that has no gateway connection.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { RPC_OP } from '../../../protocol/rpc.ts';
import { encodeFrame, FrameReader, type RpcFrame } from '../../../sdk/rpc/frame.ts';
import { RpcHost } from '../../../sdk/rpc/host.ts';
import { openLocalClient } from '../../../sdk/rpc/ipcclient.ts';
import { serveIpc } from '../../../sdk/rpc/ipcserver.ts';
import { socketPath } from '../../../sdk/rpc/socketpath.ts';
import { APPLICATION, ME, ScriptedServer } from '../../support/sdk.ts';

let folder: string;
let server: ScriptedServer;
let host: RpcHost;
let closing: (() => Promise<void> | void)[];
const place = () => ({ env: { XDG_RUNTIME_DIR: folder }, platform: process.platform });
const serve = async () => {
  const served = await serveIpc(place(), (transport) => host.connect(transport));
  closing.push(served.close);
  return served;
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rpc-'));
  server = new ScriptedServer();
  server.answer(`GET /applications/${APPLICATION}/rpc`, () => ({ body: { id: APPLICATION, name: 'Game' } }));
  const { os, openSocket, fetch } = server.host();
  host = new RpcHost({
    ...{ api: 'http://server.test/api', gatewayUrl: 'ws://server.test', token: 'own', os, fetch },
    ...{ open: openSocket, nowMs: () => 0, ended: () => undefined },
    audio: null,
    page: { locale: 'en', confirm: async () => false, openExternal: () => false, consent: async () => false },
  });
  server.welcome({ guilds: [] });
  await host.started();
  closing = [() => host.close()];
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  await rm(folder, { recursive: true, force: true });
});

/** Leaves the socket of a process that was killed. */
async function leaveDead(path: string): Promise<void> {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  expect((await stat(path)).isSocket()).toBe(true);
}

/** The timers of the server, which run when a test says so. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Sends bytes and collects the answers until the server ends the connection. */
async function exchange(path: string, ...parts: readonly Uint8Array[]): Promise<RpcFrame[]> {
  const socket = createConnection(path);
  const reader = new FrameReader();
  const frames: RpcFrame[] = [];
  socket.on('data', (bytes: Buffer) => frames.push(...reader.push(bytes)));
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return frames;
}

describe('the local socket', () => {
  test.each([
    [{ XDG_RUNTIME_DIR: '/run/user/1', TMPDIR: '/t' }, 'linux', '/run/user/1/discord-ipc-3'],
    [{ TMPDIR: '/t/', TMP: '/u' }, 'darwin', '/t/discord-ipc-3'],
    [{ TMP: '/u' }, 'linux', '/u/discord-ipc-3'],
    [{ TEMP: '/v' }, 'linux', '/v/discord-ipc-3'],
    [{}, 'linux', '/tmp/discord-ipc-3'],
    [{ TEMP: 'C:\\' }, 'win32', '\\\\?\\pipe\\discord-ipc-3'],
  ])('is found by %j on %s at %s', (env, platform, path) => {
    expect(socketPath({ env, platform }, 3)).toBe(path);
  });

  test('is accessible to its user only, and removed on close', async () => {
    const { path, close } = await serve();
    const mask = process.umask();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(mask);
    await close();
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('has the next number beside a running server, and beside a file that is no socket', async () => {
    expect((await serve()).path).toMatch(/-0$/);
    await writeFile(join(folder, 'discord-ipc-1'), 'mine');
    expect((await serve()).path).toMatch(/-2$/);
    expect((await stat(join(folder, 'discord-ipc-1'))).size).toBe(4);
  });

  test('is taken over from a dead server by one of two that start together; the other has the next number', async () => {
    for (let round = 0; round < 3; round += 1) {
      await leaveDead(join(folder, 'discord-ipc-0'));
      const both = await Promise.all([serve(), serve(), serve()]);
      expect(both.map(({ path }) => path.at(-1)).sort()).toEqual(['0', '1', '2']);
      for (const { path } of both) {
        const socket = createConnection(path);
        await once(socket, 'connect');
        socket.destroy();
      }
      for (const { close } of both) await close();
      expect(await readdir(folder)).toEqual([]);
    }
  });

  test.runIf(process.getuid?.() === 0)('refuses programs of other users of the machine', async () => {
    const { path } = await serve();
    // So that the mode of the socket decides, and not that of its folder.
    await chmod(folder, 0o755);
    const script = `require('node:net').createConnection(${JSON.stringify(path)})
      .on('connect', () => process.exit(0)).on('error', ({ code }) => { console.log(code); process.exit(1); })`;
    const outcome = spawnSync(process.execPath, ['-e', script], {
      uid: 65_534,
      gid: 65_534,
      encoding: 'utf8',
    });
    expect([outcome.status, outcome.stdout.trim()]).toEqual([1, 'EACCES']);
  });

  test('is refused when all ten are taken', async () => {
    for (let n = 0; n < 10; n += 1) {
      const other = createServer();
      other.listen(join(folder, `discord-ipc-${n}`));
      await once(other, 'listening');
      closing.push(() => void other.close());
    }
    await expect(serve()).rejects.toThrow('All 10 sockets');
  });

  test.each([
    ['an unknown opcode', Buffer.alloc(8, 9)],
    ['a giant length', Buffer.from([1, 0, 0, 0, 255, 255, 255, 255])],
    ['broken JSON', Buffer.from([1, 0, 0, 0, 1, 0, 0, 0, 0x7b])],
  ])('closes a stream with %s by code 1003', async (_, bytes) => {
    const { path } = await serve();
    expect(await exchange(path, bytes)).toMatchObject([{ op: RPC_OP.CLOSE, data: { code: 1003 } }]);
  });

  test('ends a connection that has sent nothing for ten seconds', async () => {
    fakeTimers();
    const { path } = await serve();
    const socket = createConnection(path);
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    // The server has seen the connection, too.
    await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(0);
    vi.advanceTimersByTime(9_999);
    expect(socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    await closed;
  });

  test('closes a handshake of another version by code 4004', async () => {
    const { path } = await serve();
    const shake = encodeFrame(RPC_OP.HANDSHAKE, { v: 2, client_id: APPLICATION });
    expect(await exchange(path, shake.subarray(0, 5), shake.subarray(5))).toMatchObject([
      { op: RPC_OP.CLOSE, data: { code: 4004 } },
    ]);
  });
});

describe('frames for a game that reads each chunk as one frame', () => {
  const PINGS = 5;
  const ping = (n: number) => encodeFrame(RPC_OP.PING, { n });

  test('arrive in chunks of their own, in order', async () => {
    fakeTimers();
    const { path } = await serve();
    const socket = createConnection(path);
    const chunks: Buffer[] = [];
    socket.write(Buffer.concat(Array.from({ length: PINGS }, (_, n) => ping(n))));
    for (let n = 0; n < PINGS; n += 1) {
      const [chunk] = await once(socket, 'data');
      chunks.push(chunk as Buffer);
      vi.advanceTimersByTime(15);
    }
    const frames = chunks.map((chunk) => new FrameReader().push(chunk));
    expect(frames).toEqual(Array.from({ length: PINGS }, (_, n) => [{ op: RPC_OP.PONG, data: { n } }]));
    socket.destroy();
  });

  test('are all received before the end of a connection, and when more than a few wait', async () => {
    const { path } = await serve();
    const many = Array.from({ length: 200 }, (_, n) => ping(n));
    const told = await exchange(path, Buffer.concat([...many, Buffer.alloc(8, 9)]));
    expect(told.slice(0, -1).map(({ data }) => data)).toEqual(many.map((_, n) => ({ n })));
    expect(told.at(-1)).toMatchObject({ op: RPC_OP.CLOSE, data: { code: 1003 } });
  });
});

describe('a game without a gateway connection', () => {
  const states = () =>
    server
      .sent(3)
      .map((d) => (d as { activities: { state: string }[] }).activities.map(({ state }) => state));

  test('sets its activity over the socket until it closes', async () => {
    await serve();
    const game = openLocalClient(APPLICATION, place());
    await game.setActivity({ state: 'Alone' });
    await game.setActivity({ state: 'Together' });
    expect(states()).toEqual([['Alone'], ['Together']]);
    await expect(game.setActivity({ state: 'x' })).rejects.toThrow('state must have 2 to 128 characters.');
    game.close();
    await expect.poll(states).toEqual([['Alone'], ['Together'], []]);
  });

  test('reads the signed-in user of this machine', async () => {
    await serve();
    const game = openLocalClient(APPLICATION, place());
    expect(await game.user()).toEqual({ id: ME, username: 'me', globalName: 'Me' });
    game.close();
  });

  test('rejects when no server runs', async () => {
    const game = openLocalClient(APPLICATION, place());
    await expect(game.setActivity({})).rejects.toThrow('No RPC server runs on this machine.');
  });

  test('rejects with the reason when the server closes the connection', async () => {
    await serve();
    const game = openLocalClient('404', place());
    await expect(game.setActivity({})).rejects.toThrow('There is no such application.');
  });
});
