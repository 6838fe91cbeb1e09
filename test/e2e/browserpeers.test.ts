// Goal: a real browser and this side exchange sound as plain RTP over one UDP port, with many speakers on one connection.
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createPeers } from '../../media/webrtc/peers.ts';
import type { PeerPort } from '../../media/webrtc/ports.ts';
import { reserveUdpPort } from '../../media/webrtc/reservation.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { ROOT } from '../support/source.ts';
import { shareAt, toneFrames } from '../support/tone.ts';

const MICROPHONE_HZ = 440;
const ROBOT_HZ = 1000;
/** Payload type of VP8 in calls, and the SSRCs that are allotted for it. */
const VP8 = 103;
const STREAM = { ssrc: 2001, rtxSsrc: 2002 };

/** One browser member: its SSRC, and the SSRCs it wants to hear. */
interface Listener {
  readonly page: Page;
  readonly ssrc: number;
  readonly hears: readonly number[];
}

interface Received {
  readonly ssrc: number;
  readonly packet: Buffer;
}

let chromium: TestBrowser;
let site: Server;
let peers: PeerPort;
let port: number;
let received: Received[];
let states: string[];
let onPacket: (from: number, packet: Uint8Array) => void;

beforeAll(async () => {
  if (CHROMIUM === null) return;
  chromium = await launchBrowser(MICROPHONE_HZ);
  site = createServer((_, reply) => reply.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
});

afterAll(async () => {
  await chromium?.close();
  site?.close();
});

afterEach(() => peers?.closeAll());

async function makePeers(connectMs = 15_000): Promise<void> {
  [received, states, onPacket] = [[], [], () => {}];
  const reservation = await reserveUdpPort('127.0.0.1');
  port = reservation.port;
  peers = createPeers(
    { bindAddress: '127.0.0.1', port, externalAddress: '127.0.0.1', connectMs, reservation },
    {
      packet(ssrc, packet) {
        received.push({ ssrc, packet: Buffer.from(packet) });
        onPacket(ssrc, packet);
      },
      state: (ssrc, state) => void states.push(`${ssrc} ${state}`),
    },
  );
}

interface Pictures {
  /** Whether the page sends any. */
  readonly films?: boolean;
  /** The SSRC of those it shows. */
  readonly sees?: number;
}

async function joinCall(ssrc: number, hears: readonly number[], pictures: Pictures = {}): Promise<Listener> {
  const page = await chromium.browser.newPage();
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  await page.exposeFunction('openPeer', (fragment: string) => peers.open(ssrc, fragment, [STREAM]));
  await page.addScriptTag({ path: join(ROOT, 'test/support/callin.page.js') });
  await page.evaluate(`callIn(${JSON.stringify({ hears, ...pictures })})`);
  return { page, ssrc, hears };
}

/** Audio that the page hears from each of its wanted speakers: 0.68 seconds of samples. */
async function heard(listener: Listener): Promise<Float64Array[]> {
  return (await listener.page.evaluate<number[][]>('heard()')).map((samples) => Float64Array.from(samples));
}

/** An RTP packet as the forwarder sends it: twelve bytes of header, then what it was given. */
function rtp(ssrc: number, index: number, payload: Uint8Array): Buffer {
  const packet = Buffer.alloc(12 + payload.length);
  packet.writeUInt16BE(0x8078, 0);
  packet.writeUInt16BE((index + 65_000) & 0xffff, 2);
  packet.writeUInt32BE((index * 960) >>> 0, 4);
  packet.writeUInt32BE(ssrc, 8);
  packet.set(payload, 12);
  return packet;
}

/** A browser's packet as the forwarder passes it on: its header without extensions. */
function plain(packet: Buffer): Buffer {
  const header = Buffer.from(packet.subarray(0, 12));
  header[0] = 0x80;
  return Buffer.concat([header, payloadOf(packet)]);
}

/** The payload of a browser's packet: behind CSRCs and header extensions. */
function payloadOf(packet: Buffer): Buffer {
  const fixed = 12 + 4 * (packet[0]! & 0x0f);
  return packet.subarray((packet[0]! & 0x10) === 0 ? fixed : fixed + 4 + 4 * packet.readUInt16BE(fixed + 2));
}

/** Noise, and what looks like STUN, DTLS, RTP and RTCP. */
function strangeDatagram(n: number): Buffer {
  const bytes = randomBytes(n % 4 === 0 ? n % 60 : 20 + (n % 1200));
  const starts = [
    [],
    [0x00, 0x01, 0x00, 0x08, 0x21, 0x12, 0xa4, 0x42],
    [0x16, 0xfe, 0xfd],
    [0x80, 0x6f],
    [0x81, 0xc9],
  ];
  bytes.set(starts[n % starts.length]!.slice(0, bytes.length));
  return bytes;
}

const soon = { timeout: 20_000, interval: 250 };
const isRtp = ({ packet }: Received): boolean => packet[1]! < 192 || packet[1]! > 223;

describe.runIf(CHROMIUM !== null)('browsers', () => {
  test('hear each other and a third speaker, told apart by SSRC', async () => {
    await makePeers();
    const first = await joinCall(1001, [1002, 5000]);
    const second = await joinCall(1002, [1001]);
    let index = 0;
    onPacket = (from, packet) => {
      const bytes = Buffer.from(packet);
      const to = from === first.ssrc ? second.ssrc : first.ssrc;
      if (isRtp({ ssrc: from, packet: bytes }))
        peers.send(to, rtp(from, bytes.readUInt16BE(2), payloadOf(bytes)));
    };
    const tone = toneFrames(ROBOT_HZ, 10);
    const speaking = setInterval(
      () => peers.send(first.ssrc, rtp(5000, index, tone[index++ % tone.length]!)),
      20,
    );
    try {
      await expect
        .poll(async () => {
          const [fromSecond, fromRobot] = await heard(first);
          const [fromFirst] = await heard(second);
          return [
            shareAt(fromSecond!, MICROPHONE_HZ) > 0.5,
            shareAt(fromRobot!, ROBOT_HZ) > 0.5 && shareAt(fromRobot!, MICROPHONE_HZ) < 0.05,
            shareAt(fromFirst!, MICROPHONE_HZ) > 0.5,
          ];
        }, soon)
        .toEqual([true, true, true]);
    } finally {
      clearInterval(speaking);
    }
    expect(states.sort()).toEqual(['1001 connected', '1002 connected']);
    const named = new Set(
      received
        .filter(isRtp)
        .map(({ ssrc, packet }) => `${ssrc} ${packet.readUInt32BE(8)} ${packet[1]! & 0x7f}`),
    );
    expect([...named].sort()).toEqual(['1001 1001 120', '1002 1002 120']);
  });

  test('see each other in VP8, and request a keyframe from the sender when a picture is missing', async () => {
    await makePeers();
    onPacket = (from, packet) => {
      const bytes = Buffer.from(packet);
      if (!isRtp({ ssrc: from, packet: bytes })) peers.send(from === 1001 ? 1002 : 1001, bytes);
      else if ((bytes[1]! & 0x7f) === VP8) peers.send(1002, plain(bytes));
    };
    const sender = await joinCall(1001, [], { films: true });
    await expect.poll(() => received.some(({ packet }) => (packet[1]! & 0x7f) === VP8), soon).toBe(true);
    // Comes in the middle of the film: without a key frame there is nothing it could show.
    const watcher = await joinCall(1002, [], { sees: STREAM.ssrc });
    const count = async (page: Page, what: string) =>
      (await page.evaluate<Record<string, number>>('pictures()'))[what]!;
    await expect.poll(() => count(watcher.page, 'framesDecoded'), soon).toBeGreaterThan(10);
    expect(await count(sender.page, 'pliCount')).toBeGreaterThan(0);
    const video = received.filter(({ packet }) => (packet[1]! & 0x7f) === VP8);
    expect(new Set(video.map(({ packet }) => packet.readUInt32BE(8)))).toEqual(new Set([STREAM.ssrc]));
  });

  test('stay connected under a flood of foreign datagrams', async () => {
    await makePeers();
    const only = await joinCall(1001, []);
    await expect.poll(() => states, soon).toEqual(['1001 connected']);
    const socket = createSocket('udp4');
    for (let n = 0; n < 3000; n++) {
      socket.send(strangeDatagram(n), port, '127.0.0.1');
      if (n % 100 === 0) await setImmediate();
    }
    const before = received.length;
    await expect.poll(() => received.length, soon).toBeGreaterThan(before + 20);
    socket.close();
    expect(states).toEqual(['1001 connected']);
    await only.page.close();
  });

  test('are reported as failed when they disconnect', async () => {
    await makePeers();
    const only = await joinCall(1001, []);
    await expect.poll(() => states, soon).toEqual(['1001 connected']);
    await only.page.evaluate('hangUp()');
    await only.page.close();
    await expect.poll(() => states, { timeout: 40_000 }).toEqual(['1001 connected', '1001 failed']);
    expect(peers.send(1001, rtp(5000, 1, Buffer.alloc(3)))).toBe(false);
  });
});

describe('peers', () => {
  const fragment = [
    'a=ice-ufrag:abcd',
    `a=ice-pwd:${'p'.repeat(24)}`,
    `a=fingerprint:sha-256 ${Array(32).fill('AB').join(':')}`,
    'a=rtpmap:111 opus/48000/2',
  ].join('\n');

  test('fail when they never connect, and their SSRC can be opened again', async () => {
    await makePeers(300);
    expect(await peers.open(1001, fragment)).toMatch(/^c=IN IP4 127\.0\.0\.1\na=fingerprint:sha-256 /);
    expect(peers.send(1001, rtp(5000, 1, Buffer.alloc(3)))).toBe(false);
    await expect.poll(() => states, soon).toEqual(['1001 failed']);
    expect(await peers.open(1001, fragment)).toContain('a=ice-pwd:');
  });

  test('are rejected when their SDP fragment is invalid', async () => {
    await makePeers();
    expect(await peers.open(1001, 'nothing')).toBeNull();
    expect(await peers.open(1001, fragment.replace('opus', 'OTHER'))).toBeNull();
  });

  test('leave nothing behind when they are closed while opening', async () => {
    await makePeers(300);
    const opening = peers.open(1001, fragment);
    peers.close(1001);
    expect(await opening).toBeNull();
    expect(await Promise.all([peers.open(1002, fragment), peers.open(1002, fragment)])).toEqual([
      null,
      expect.stringContaining('a=candidate:'),
    ]);
    peers.closeAll();
    expect(states).toEqual([]);
  });
});
