// Goal: the sockets of the addon and of node:dgram handle every packet alike; bad sizes, addresses or send errors break neither.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createTransportCipher } from '../../../media/crypto/transport.ts';
import { loadAddon } from '../../../media/io/addon.ts';
import { openSocket } from '../../../media/io/opensocket.ts';
import type { MediaSocket } from '../../../media/io/udp.ts';
import type { Endpoint } from '../../../media/sfu/ports.ts';
import { TRANSPORT_MODES } from '../../../protocol/voice.ts';
import { builtAddon } from './addon.build.ts';

const { addon, file, why } = builtAddon();
const WAIT = { timeout: 5000, interval: 5 };
const SENDERS = addon === null ? (['dgram'] as const) : (['dgram', 'native'] as const);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Arrived {
  readonly bytes: Buffer;
  readonly length: number;
  readonly from: Endpoint;
}

async function arrange(kind: 'dgram' | 'native', host = '127.0.0.1') {
  const arrived: Arrived[] = [];
  const socket = await openSocket(
    { host, port: 0, isNative: kind === 'native' },
    {
      datagram: (bytes, length, from) =>
        void arrived.push({ bytes: Buffer.from(bytes.subarray(0, length)), length, from }),
      settled: () => {},
    },
  );
  closers.push(() => socket.close());
  expect(socket.sender.kind).toBe(kind);
  return { socket, arrived };
}

async function receiver(host = '127.0.0.1') {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const packets: Buffer[] = [];
  socket.on('message', (packet) => packets.push(packet));
  socket.bind(0, host);
  await once(socket, 'listening');
  socket.setRecvBufferSize(4 << 20);
  closers.push(() => socket.close());
  return { socket, packets, at: { address: host, port: socket.address().port } };
}

const send = (from: Socket, bytes: Uint8Array, to: MediaSocket, host = '127.0.0.1'): Promise<void> =>
  new Promise((resolve, reject) =>
    from.send(bytes, to.port, host, (error) => (error ? reject(error) : resolve())),
  );

/** Sends plain bytes. */
function say(socket: MediaSocket, to: Endpoint, bytes: Buffer): void {
  socket.setBody(bytes);
  socket.sendUdp(to, null, Buffer.alloc(0), 0);
}

describe.each(SENDERS)(`the socket of %s ${why}`, (kind) => {
  test('delivers every packet of any batch once, unchanged and in order', async () => {
    const { socket } = await arrange(kind);
    const receivers = [await receiver(), await receiver(), await receiver()];
    const key = randomBytes(32);
    const ciphers = [null, ...TRANSPORT_MODES.map((mode) => socket.createCipher(mode, key))];
    const oracles = [null, ...TRANSPORT_MODES.map((mode) => createTransportCipher(mode, key))];
    const fanouts = fc.array(
      fc.record({
        body: fc.uint8Array({ minLength: 1, maxLength: 1300 }).map((bytes) => Buffer.from(bytes)),
        header: fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
        to: fc.array(fc.record({ receiver: fc.nat(2), cipher: fc.nat(2), nonce: fc.nat() }), {
          maxLength: 40,
        }),
        isFlushed: fc.boolean(),
      }),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(fanouts, async (batch) => {
        const expected: Buffer[][] = [[], [], []];
        for (const { body, header, to, isFlushed } of batch) {
          socket.setBody(body);
          for (const { receiver: which, cipher, nonce } of to) {
            const packet = Buffer.alloc(2048);
            const plain = Buffer.concat([header, body]);
            const length = oracles[cipher]?.seal(packet, 0, header, body, nonce) ?? plain.copy(packet);
            expected[which]!.push(packet.subarray(0, length));
            expect(socket.sendUdp(receivers[which]!.at, ciphers[cipher]!, header, nonce)).toBe(length);
          }
          if (isFlushed) socket.flush();
        }
        socket.flush();
        await vi.waitFor(() => {
          for (const [index, { packets }] of receivers.entries())
            if (packets.length < expected[index]!.length) throw new Error('not yet');
        }, WAIT);
        expect(receivers.map(({ packets }) => packets.splice(0))).toEqual(expected);
      }),
      { numRuns: 40 },
    );
    expect([socket.failed, socket.dropped]).toEqual([0, 0]);
  });

  test('sends packets of one length to one address as separate datagrams', async () => {
    const { socket } = await arrange(kind);
    const { packets, at } = await receiver();
    const sent = Array.from({ length: 300 }, (_, index) => Buffer.alloc(200, index));
    for (const packet of sent) say(socket, at, packet);
    say(socket, at, Buffer.alloc(50));
    say(socket, at, Buffer.alloc(201));
    say(socket, at, Buffer.alloc(1900));
    socket.flush();
    await vi.waitFor(() => expect(packets).toHaveLength(303), WAIT);
    expect(packets.slice(0, 300)).toEqual(sent);
    expect(packets.slice(300).map(({ length }) => length)).toEqual([50, 201, 1900]);
  });

  test('reports datagrams of every size with their length and source', async () => {
    const { socket, arrived } = await arrange(kind);
    const { socket: client, at } = await receiver();
    const sizes = [0, 1, 12, 1472, 2000, 2047, 2048, 2112, 2113, 4096, 65_507];
    for (const size of sizes) await send(client, randomBytes(size), socket);
    await vi.waitFor(() => expect(arrived).toHaveLength(sizes.length), WAIT);
    expect(arrived.map(({ length }) => length)).toEqual(sizes);
    for (const { from } of arrived) expect(from).toMatchObject(at);
  });

  test('receives more datagrams than one batch holds', async () => {
    const { socket, arrived } = await arrange(kind);
    const { socket: client } = await receiver();
    const sent = Array.from({ length: 300 }, (_, index) => Buffer.from(`packet ${index}`));
    await Promise.all(sent.map((packet) => send(client, packet, socket)));
    await vi.waitFor(() => expect(arrived).toHaveLength(300), WAIT);
    expect(arrived.map(({ bytes }) => bytes)).toEqual(sent);
  });

  test('answers the source of a datagram', async () => {
    const { socket, arrived } = await arrange(kind);
    const { socket: client, packets } = await receiver();
    await send(client, Buffer.from('asked'), socket);
    await vi.waitFor(() => expect(arrived).toHaveLength(1), WAIT);
    say(socket, arrived[0]!.from, Buffer.from('answered'));
    socket.flush();
    await vi.waitFor(() => expect(packets.map(String)).toEqual(['answered']), WAIT);
  });

  test('receives and sends over IPv6', async () => {
    const { socket, arrived } = await arrange(kind, '::1');
    const { socket: client, packets, at } = await receiver('::1');
    await send(client, Buffer.from('asked'), socket, '::1');
    await vi.waitFor(() => expect(arrived).toHaveLength(1), WAIT);
    expect(arrived[0]!.from).toMatchObject(at);
    say(socket, arrived[0]!.from, Buffer.from('to a source'));
    say(socket, at, Buffer.from('to an address'));
    socket.flush();
    await vi.waitFor(() => expect(packets.map(String)).toEqual(['to a source', 'to an address']), WAIT);
  });

  test('reports IPv4 sources as mapped addresses when it is bound to ::', async () => {
    const { socket, arrived } = await arrange(kind, '::');
    const { socket: client, packets } = await receiver();
    await send(client, Buffer.from('asked'), socket);
    await vi.waitFor(() => expect(arrived[0]?.from.address).toBe('::ffff:127.0.0.1'), WAIT);
    say(socket, arrived[0]!.from, Buffer.from('answered'));
    socket.flush();
    await vi.waitFor(() => expect(packets).toHaveLength(1), WAIT);
  });

  test('continues to send after a closed port or a forbidden address', async () => {
    const { socket } = await arrange(kind);
    const gone = await receiver();
    const { packets, at } = await receiver();
    gone.socket.close();
    closers.splice(1, 1);
    for (let turn = 0; turn < 20; turn += 1) {
      say(socket, gone.at, Buffer.from('nobody'));
      say(socket, { address: '255.255.255.255', port: 9 }, Buffer.from('not allowed'));
      say(socket, at, Buffer.from(String(turn)));
      socket.flush();
    }
    await vi.waitFor(() => expect(packets).toHaveLength(20), WAIT);
    await vi.waitFor(() => expect(socket.failed).toBe(20), WAIT);
  });

  test('sends pending packets and frees its port when it is closed', async () => {
    const { socket } = await arrange(kind);
    const { packets, at } = await receiver();
    const { port } = socket;
    say(socket, at, Buffer.from('last'));
    await socket.close();
    closers.splice(0, 1);
    const again = await openSocket(
      { host: '127.0.0.1', port, isNative: kind === 'native' },
      { datagram: () => {}, settled: () => {} },
    );
    expect(again.port).toBe(port);
    await again.close();
    await vi.waitFor(() => expect(packets.map(String)).toEqual(['last']), WAIT);
  });

  test('rejects a port in use with EADDRINUSE', async () => {
    const { socket } = await arrange(kind);
    const listener = { datagram: () => {}, settled: () => {} };
    const plan = { host: '127.0.0.1', port: socket.port, isNative: kind === 'native' };
    await expect(openSocket(plan, listener)).rejects.toMatchObject({
      code: 'EADDRINUSE',
      message: `bind EADDRINUSE 127.0.0.1:${socket.port}`,
    });
  });
});

test('an addon that cannot load reports the cause, and a socket without the addon uses node:dgram', async () => {
  expect(loadAddon('/nowhere/media.node')).toMatchObject({
    addon: null,
    reason: expect.stringContaining('nowhere'),
  });
  const socket = await openSocket(
    { host: '127.0.0.1', port: 0, isNative: false },
    { datagram: () => {}, settled: () => {} },
  );
  closers.push(() => socket.close());
  expect(socket.sender).toEqual({ kind: 'dgram', reason: 'switched off' });
});

const isNative = addon !== null;

describe.skipIf(!isNative)(`the addon ${why}`, () => {
  test('gives freed memory back to the system', () => {
    // Below the size that glibc maps by itself, and with one block left at the end of the heap.
    const program = `
      const { releaseMemory } = require(${JSON.stringify(file)});
      const allocate = () => Buffer.allocUnsafeSlow(100_000).fill(1);
      const last = (() => Array.from({ length: 600 }, allocate).at(-1))();
      gc();
      setTimeout(() => {
        const before = process.memoryUsage.rss();
        releaseMemory();
        console.log(before - process.memoryUsage.rss(), last.length);
      }, 50);`;
    const { stdout } = spawnSync(process.execPath, ['--expose-gc', '-e', program], { encoding: 'utf8' });
    expect(Number.parseInt(stdout, 10)).toBeGreaterThan(20_000_000);
  });

  test('rejects host names, foreign socket objects and buffers that are too small', async () => {
    const plan = { host: 'example.org', port: 0, isNative };
    await expect(openSocket(plan, { datagram: () => {}, settled: () => {} })).rejects.toThrow('EINVAL');
    expect(() => addon!.send({}, 1)).toThrow(TypeError);
    expect(() => addon!.bind('127.0.0.1', 0, ...memory(10), () => {})).toThrow(RangeError);
  });

  test('rejects send records with invalid offsets, ciphers or addresses, and sends the others', async () => {
    const { packets, at } = await receiver();
    const [received, words, out, records, counters] = memory(1);
    const socket = addon!.bind('127.0.0.1', 0, received, words, out, records, counters, () => {});
    closers.push(() => new Promise<void>((resolve) => addon!.close(socket, resolve)));
    const address = [4, at.port, 0x7f00_0001];
    const bad = [
      [0xffff_ffff, 12, 0, 10, 0, 0, ...address],
      [0, 0xffff_ffff, 0, 10, 0, 0, ...address],
      [0, 12, 0, 0xffff_fff8, 0, 0, ...address],
      [0, 12, 65_530, 100, 0, 0, ...address],
      [0, 1024, 0, 1025, 0, 0, ...address],
      [0, 12, 0, 10, 999_999, 0, ...address],
      [0, 12, 0, 10, 0xffff_ffff, 0, ...address],
      [0, 12, 0, 10, 0, 0, 5, at.port, 0x7f00_0001],
      [0, 12, 0, 10, 0, 0, 4, 70_000, 0x7f00_0001],
    ];
    for (const [index, record] of [...bad, [0, 12, 12, 10, 0, 0, ...address]].entries())
      records.set(record, index * 16);
    addon!.send(socket, bad.length + 1);
    expect(() => addon!.send(socket, 257)).toThrow(RangeError);
    await vi.waitFor(() => expect(packets.map(({ length }) => length)).toEqual([22]), WAIT);
    expect(counters[0]).toBe(bad.length);
  });

  test('lets a worker terminate while its socket is open', async () => {
    const worker = new Worker(
      `const addon = require(${JSON.stringify(file)});
       const words = (n) => new Uint32Array(n);
       addon.bind('127.0.0.1', 0, Buffer.alloc(64 * 2112), words(512), Buffer.alloc(65536), words(4096), words(4), () => {});
       require('node:worker_threads').parentPort.postMessage('bound');`,
      { eval: true },
    );
    await once(worker, 'message');
    expect(await worker.terminate()).toBe(1);
  });

  /** Runs a script whose calls of `sendmmsg` fail with the errors `refusals`. @returns null without a compiler. */
  function injected(refusals: string, script: string): string | null {
    const folder = mkdtempSync(join(tmpdir(), 'guildhall-udp-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'refuse.c'), REFUSING);
    const library = join(folder, 'refuse.so');
    const compiled = spawnSync('cc', [
      '-shared',
      '-fPIC',
      '-D_GNU_SOURCE',
      '-o',
      library,
      join(folder, 'refuse.c'),
    ]);
    if (compiled.status !== 0) return null;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', `${PRELUDE}${script}\n}`], {
      encoding: 'utf8',
      env: { ...process.env, LD_PRELOAD: library, REFUSALS: refusals, ADDON: file },
      timeout: 20_000,
    });
    expect(stderr).toBe('');
    return stdout.trim();
  }

  test('queues packets on EAGAIN, and sends them in order later', () => {
    const printed = injected(
      'EAGAIN EAGAIN',
      "for (const n of [1, 2, 3]) say('packet ' + n); soon(3, print);",
    );
    if (printed !== null) expect(printed).toBe('packet 1,packet 2,packet 3 failed 0 dropped 0');
  });

  test('drops and counts the oldest queued packets beyond 1,024', () => {
    const printed = injected(
      'EAGAIN '.repeat(3),
      "for (let n = 0; n < 1030; n += 1) say('packet ' + n); soon(1024, () => { heard.splice(1, 1022); print(); });",
    );
    if (printed !== null) expect(printed).toBe('packet 6,packet 1029 failed 0 dropped 6');
  });

  test('counts packets that fail with ENOBUFS or ECONNREFUSED, and sends the next', () => {
    const printed = injected(
      'ENOBUFS ECONNREFUSED',
      "for (const n of [1, 2, 3]) say('packet ' + n); soon(1, print);",
    );
    if (printed !== null) expect(printed).toBe('packet 3 failed 2 dropped 0');
  });

  test('sends segments one by one when segmentation offload fails', () => {
    const printed = injected('EIO', "say('packet 1', 'packet 2', 'packet 3'); soon(3, print);");
    if (printed !== null) expect(printed).toBe('packet 1,packet 2,packet 3 failed 0 dropped 0');
  });
});

function memory(divisor: number): [Buffer, Uint32Array, Buffer, Uint32Array, Uint32Array] {
  return [
    Buffer.alloc((64 * 2112) / divisor),
    new Uint32Array(64 * 8),
    Buffer.alloc(65_536),
    new Uint32Array(256 * 16),
    new Uint32Array(4),
  ];
}

/** Each call of sendmmsg fails with the next word of REFUSALS, until there is none. */
const REFUSING = `
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
static char *left;
int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  static int (*real)(int, struct mmsghdr *, unsigned, int);
  if (!real) { real = dlsym(RTLD_NEXT, "sendmmsg"); left = strtok(strdup(getenv("REFUSALS")), " "); }
  if (!left) return real(fd, messages, count, flags);
  errno = !strcmp(left, "EAGAIN") ? EAGAIN : !strcmp(left, "ENOBUFS") ? ENOBUFS : !strcmp(left, "EIO") ? EIO : ECONNREFUSED;
  left = strtok(NULL, " ");
  return -1;
}
`;

/** `say(text, …)` sends one batch to a receiver; `soon(n, run)` waits for n packets. */
const PRELUDE = `
const addon = require(process.env.ADDON);
const words = (n) => new Uint32Array(n);
const [out, records, counters] = [Buffer.alloc(65536), words(4096), words(4)];
const socket = addon.bind('127.0.0.1', 0, Buffer.alloc(64 * 2112), words(512), out, records, counters, () => {});
const receiver = require('node:dgram').createSocket('udp4');
const heard = [];
const say = (...texts) => {
  texts.forEach((text, n) => {
    const length = out.write(text, n * 100);
    records.set([n * 100, length, 0, 0, 0, 0, 4, receiver.address().port, 0x7f000001], n * 16);
  });
  addon.send(socket, texts.length);
};
const soon = (n, run) => {
  const check = setInterval(() => {
    if (heard.length < n) return;
    clearInterval(check);
    setTimeout(() => { run(); addon.close(socket, () => receiver.close()); }, 20);
  }, 5);
};
const print = () => console.log(heard.join() + ' failed ' + counters[0] + ' dropped ' + counters[1]);
receiver.on('message', (packet) => heard.push(String(packet)));
receiver.bind(0, '127.0.0.1', () => { run(); });
receiver.on('listening', () => receiver.setRecvBufferSize(4 << 20));
function run() {
`;
