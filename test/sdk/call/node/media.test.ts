// Goal: in Node, media of a voice server is played by its recipient once and in order; captured audio is sent while
// the gate is open, and ends in silence; and no message of a server breaks anything.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SILENCE_FRAME } from '../../../../protocol/voice.ts';
import type { AudioCallbacks, CallAudio, CallMedia, CallMediaEvents } from '../../../../sdk/call/media.ts';
import { createNodeAudio } from '../../../../sdk/call/node/audio.ts';
import type { CallPackages } from '../../../../sdk/call/node/packages.ts';
import {
  KEY_BYTES,
  readAudio,
  readDiscovery,
  TRANSPORT_MODE,
  TransportCipher,
  writeAudio,
} from '../../../../sdk/call/node/rtp.ts';

const KEY = Array<number>(KEY_BYTES).fill(3);
const OTHER = '200';
const SSRC = { own: 7, other: 9 } as const;
const [GONE, SPOKEN] = [255, 100];

/** A codec whose packets are one byte: what the first sample is, in hundreds. */
const packages: CallPackages = {
  newCodec: () => ({
    encode: (samples) => Uint8Array.of(samples[0]! / 100),
    decode: (packet) => {
      if (packet[0] === GONE) throw new Error('corrupt');
      return new Int16Array(1920).fill(packet[0]! * 100);
    },
    close: () => {},
  }),
  newGroup: () => {
    throw new Error('There is no DAVE here.');
  },
};

/** Values that arrive, and the caller that waits for the next one. */
class Came<T> {
  readonly all: T[] = [];
  #waiting: (() => void) | null = null;
  readonly put = (value: T): void => {
    this.all.push(value);
    this.#waiting?.();
  };
  async until(count: number): Promise<T[]> {
    while (this.all.length < count)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    return this.all;
  }
}

let server: Socket;
let audio: CallAudio;
let media: CallMedia;
let client: { readonly port: number };
let told: Came<string>;
let heard: Came<string>;
let sent: Came<Uint8Array>;
const cipher = new TransportCipher(Uint8Array.from(KEY));

const events = (): CallMediaEvents => ({
  select: (d) => told.put(`select ${JSON.stringify(d)}`),
  send: () => {},
  sendBinary: () => {},
  sound: (isUp) => told.put(`sound ${isUp}`),
  level: () => {},
  dave: () => {},
  complaint: (sentence) => told.put(`complaint ${sentence}`),
  failed: (sentence) => told.put(`failed ${sentence}`),
});

const ready = () => ({
  ip: '127.0.0.1',
  port: server.address().port,
  ssrc: SSRC.own,
  modes: [TRANSPORT_MODE],
});

function open(callbacks: AudioCallbacks | null): void {
  media = audio.open({ userId: '100', groupId: '700', callbacks, events: events() });
}

/** Up to the point where sound can travel, without DAVE. */
async function goUp(): Promise<void> {
  media.begin(ready());
  await told.until(1);
  media.described({ secret_key: KEY, dave_protocol_version: 0 });
  media.speaks(OTHER, SSRC.other);
}

function say(seq: number, value: number, ssrc: number = SSRC.other): void {
  const packet = writeAudio(cipher, { seq, timestamp: seq * 960, ssrc, payload: Uint8Array.of(value) });
  server.send(packet, client.port, '127.0.0.1');
}

beforeEach(async () => {
  [told, heard, sent] = [new Came(), new Came(), new Came()];
  server = createSocket('udp4').bind(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('message', (packet, from) => {
    client = from;
    const audioPacket = readAudio(cipher, packet);
    if (audioPacket !== null) sent.put(audioPacket.payload);
    else if (packet.length === 74 && readDiscovery(packet) === null) {
      const reply = Buffer.from(packet);
      reply.writeUInt16BE(2, 0);
      reply.write('203.0.113.9\0', 8, 'latin1');
      reply.writeUInt16BE(from.port, 72);
      server.send(reply, from.port, from.address);
    }
  });
  audio = createNodeAudio({ packages });
  await audio.load();
});

afterEach(() => {
  audio.close();
  server.close();
});

const listening: AudioCallbacks = {
  received: ({ userId, samples }) => heard.put(`${userId} ${samples[0]}`),
  captured: () => {},
};

test('the way is found by discovery, and is up with the key', async () => {
  open(null);
  await goUp();
  const data = { address: '203.0.113.9', port: client.port, mode: TRANSPORT_MODE };
  expect(told.all[0]).toContain(`select {"protocol":"udp","data":${JSON.stringify(data)}`);
  expect(told.all[1]).toBe('sound true');
});

describe('received audio', () => {
  beforeEach(async () => {
    open(listening);
    await goUp();
  });

  test('is played once and in order, from known members, at the set volume', async () => {
    media.setGain('300', 0);
    media.speaks('300', 11);
    say(1, 1);
    say(1, 2);
    say(3, 3);
    say(2, 4);
    say(4, GONE);
    say(1, 5, 12);
    say(1, 6, 11);
    media.setGain(OTHER, 1);
    server.send(Buffer.alloc(40, 0x80), client.port, '127.0.0.1');
    say(5, 7);
    expect(await heard.until(3)).toEqual([`${OTHER} 100`, `${OTHER} 300`, `${OTHER} 700`]);
    expect((await media.figures()).loss).toBeGreaterThan(0);
    expect(media.levels().get(OTHER)).toBeCloseTo(700 / 32_768);
  });

  test('is scaled before the application receives it, and silent for a deafened user', async () => {
    media.setGain(OTHER, 2);
    say(1, 1);
    await heard.until(1);
    media.deafen(true);
    say(2, 2);
    say(3, 2);
    for (let turns = 0; turns < 100; turns++) await turn();
    media.deafen(false);
    say(4, 4);
    expect(await heard.until(2)).toEqual([`${OTHER} 200`, `${OTHER} 800`]);
  });

  test('is dropped when its speaker has left', async () => {
    media.speaks('300', 11);
    media.left(OTHER);
    say(1, 1);
    say(1, 2, 11);
    expect(await heard.until(1)).toEqual(['300 200']);
  });
});

test('captured audio is sent while the user speaks, and ends with five frames of silence', async () => {
  open({ received: () => {}, captured: ({ samples }) => void samples.fill(SPOKEN * 100) });
  await goUp();
  media.send(true);
  const spoken = await sent.until(3);
  expect(spoken.every(([value]) => value === SPOKEN)).toBe(true);
  media.send(false);
  const silences = () => sent.all.filter((payload) => Buffer.from(payload).equals(SILENCE_FRAME)).length;
  const before = sent.all.filter(([value]) => value === SPOKEN).length;
  await sent.until(before + 5);
  expect(silences()).toBeGreaterThanOrEqual(4);
});

test('a callback that throws is reported as a complaint, and the call continues', async () => {
  open({
    received: () => {
      throw new Error('mine');
    },
    captured: () => {},
  });
  await goUp();
  say(1, 1);
  expect(await told.until(3)).toContain('complaint A callback for sound failed: Error: mine');
});

test.each([
  ['no mode that is spoken', { modes: ['plain'] }],
  ['no address', { ip: 'voice.example.org' }],
  ['no port', { port: 0 }],
  ['nothing', { ip: null, port: null, modes: null }],
])('READY with %s is no way', (_, change) => {
  open(null);
  media.begin({ ...ready(), ...change });
  expect(told.all).toEqual([expect.stringContaining('failed')]);
});

test.each([[{ secret_key: [1, 2] }], [{ secret_key: 'no' }], [{}]])(
  'op 4 with %j gives no key',
  async (d) => {
    open(null);
    media.begin(ready());
    await told.until(1);
    media.described(d);
    expect(told.all[1]).toBe('failed The voice server gave no key.');
  },
);
