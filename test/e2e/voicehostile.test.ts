// Goal: while two members talk, end-to-end encrypted, whatever strangers and other members send to the same ports costs
// those two nothing, is answered with nothing but what is documented, and leaves no trace in memory or in the log.
import { createHmac, randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TRANSPORT_MODES, type TransportMode, VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { joinChannel, VoiceClient, type VoiceTicket } from '../support/voice-client.ts';
import { VoiceDave } from '../support/voice-dave.ts';
import { rtpHeader, TransportCipher, VoiceUdp } from '../support/voice-rtp.ts';
import { Talk, until } from '../support/voice-talk.ts';

const GROWTH_BYTES_MAX = 150 << 20;
/** Bound on the share of frames that are lost: what the socket buffers of a loaded machine drop. */
const LOSS_MAX = 0.005;
const DISCOVERY_BYTES = 74;
const documented = new Set<number>(Object.values(VOICE_CLOSE).map(({ code }) => code));

let server: TestServer;
let webrtcPort: number;
let rssAtStart: number;
let a: Member;
let b: Member;
let talk: Talk;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  const probe = await openSocket();
  webrtcPort = probe.address().port;
  probe.close();
  server = await startServer({ bots: 3, set: { voice_webrtc_port: webrtcPort } });
  a = await member(0, 'aead_aes256_gcm_rtpsize');
  b = await member(1, 'aead_xchacha20_poly1305_rtpsize');
  await agreed(a, b);
  talk = new Talk(a, b);
  await talk.goesOn();
  rssAtStart = await server.rssBytes();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await talk.goesOn();
});
afterAll(async () => {
  talk?.end();
  await server?.finish();
});

async function openSocket(): Promise<Socket> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

async function ticketOf(bot: number): Promise<{ gateway: GatewayClient; ticket: VoiceTicket }> {
  const { gateway: url, bots, guild } = server.info;
  const gateway = await GatewayClient.ready(url, { token: bots[bot]!.token });
  return { gateway, ticket: await joinChannel(gateway, guild.id, guild.voice_channel_id) };
}

const dialect = () => ({ caFile: server.info.ca_file });
const DAVE = { max_dave_protocol_version: 1 };

type Member = Awaited<ReturnType<typeof member>>;

/** A bot in the call, with media and DAVE. */
async function member(bot: number, mode: TransportMode) {
  const { gateway, ticket } = await ticketOf(bot);
  const { client, ready } = await VoiceClient.ready(ticket, dialect(), { ...DAVE, video: true });
  const dave = new VoiceDave(client, ticket.userId, ticket.channelId);
  const udp = await VoiceUdp.open(ready);
  const { secret_key: key } = await client.selectUdp(await udp.discover(), mode);
  udp.use(mode, Uint8Array.from(key));
  client.speak(ready.ssrc);
  const cipher = new TransportCipher(mode, Uint8Array.from(key));
  return { gateway, ticket, client, ready, dave, udp, cipher };
}

/** The third bot, for the time of one test. */
async function guest(mode: TransportMode = TRANSPORT_MODES[0]): Promise<Member> {
  const made = await member(2, mode);
  closers.push(
    () => made.gateway.close(),
    () => made.udp.close(),
    () => made.client.terminate(),
  );
  return made;
}

/** The third bot's connection, identified, without anything that would make it a member of the group. */
async function session(): Promise<VoiceClient> {
  const { gateway, ticket } = await ticketOf(2);
  const { client } = await VoiceClient.ready(ticket, dialect(), DAVE);
  void client.closed.then(() => gateway.close());
  closers.push(() => client.terminate());
  return client;
}

/** Resolves when exactly these members are in one group. */
function agreed(...members: Pick<Member, 'dave' | 'ticket'>[]): Promise<void> {
  const users = members.map(({ ticket }) => ticket.userId).sort();
  return until('all are in one group', () => {
    const groups = members.map(({ dave }) => `${dave.privacyCode} ${[...dave.session.getUserIds()].sort()}`);
    return (
      members.every(({ dave }) => dave.ready) &&
      groups.every((each) => each === groups[0] && each.endsWith(` ${users}`))
    );
  });
}

/** Sends from a socket of its own what `make` makes, paced so that it is the server that is tried, not its socket's buffer. */
async function storm(
  count: number,
  make: (index: number) => Uint8Array,
  port = a.ready.port,
): Promise<Buffer[]> {
  const socket = await openSocket();
  const answers: Buffer[] = [];
  socket.on('message', (bytes) => answers.push(bytes));
  for (let index = 0; index < count; index += 1) {
    socket.send(make(index), port, a.ready.ip);
    if (index % 20 === 19) await sleep(5);
  }
  await sleep(200);
  socket.close();
  return answers;
}

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;
const below = (max: number): number => Math.floor(Math.random() * max);
/** A packet that a and b have really sent. */
const captured = (): Buffer => Buffer.from(pick(talk.lines.flatMap(({ packets }) => packets)));

function bent(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let flips = 1 + below(8); flips > 0; flips -= 1) copy[below(copy.length)]! ^= 1 << below(8);
  return copy;
}

function discovery(ssrc: number, bytes = DISCOVERY_BYTES): Buffer {
  const request = Buffer.alloc(bytes);
  request.writeUInt32BE(0x0001_0046);
  request.writeUInt32BE(ssrc, 4);
  return request;
}

describe('on the media port', () => {
  test('random, truncated and corrupted datagrams of every size are ignored', async () => {
    const makes = [
      () => randomBytes(below(2000)),
      () => randomBytes(2000 + below(20_000)),
      () => captured().subarray(0, below(100)),
      () => bent(captured()),
      () => Buffer.concat([captured(), randomBytes(1 + below(40))]),
    ];
    expect(await storm(4000, () => pick(makes)())).toEqual([]);
  });

  test('a stranger with the SSRC of a member receives no datagram, and redirects no stream', async () => {
    const forged = new TransportCipher(TRANSPORT_MODES[0], randomBytes(32));
    const answers = await storm(2000, (index) => {
      if (index % 2 === 0) return captured();
      const header = { payloadType: 120, seq: index, timestamp: index * 960, ssrc: pick([a, b]).ready.ssrc };
      return forged.seal(rtpHeader(header), randomBytes(60));
    });
    expect(answers).toEqual([]);
  });

  test('a flood of IP discovery gets 20 answers a second at most, none larger than the request', async () => {
    const startedMs = performance.now();
    const answers = await storm(2000, () => discovery(a.ready.ssrc));
    const seconds = Math.ceil((performance.now() - startedMs) / 1000);
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.length).toBeLessThanOrEqual(20 * (seconds + 1));
    for (const { length } of answers) expect(length).toBe(DISCOVERY_BYTES);
    const others = (index: number) =>
      index % 2 ? discovery(below(2 ** 32)) : discovery(a.ready.ssrc, 8 + below(66));
    expect(await storm(500, others)).toEqual([]);
  });

  test('unauthenticated reports, and forged ones of a member, are ignored', async () => {
    const plain = () => {
      const words = below(20);
      const report = Buffer.concat([
        Buffer.of(0x80 | below(32), 200 + below(7), 0, words + 1),
        randomBytes(4 + 4 * words),
      ]);
      report.writeUInt32BE(pick([a, b]).ready.ssrc, 4);
      return report;
    };
    expect(await storm(1000, plain)).toEqual([]);
    const third = await guest();
    const ssrcs = [a, b, third].map(({ ready }) => ready.ssrc);
    for (let index = 0; index < 1000; index += 1) {
      const report = plain();
      report.writeUInt32BE(pick(ssrcs), 4);
      for (let at = 8; at + 4 <= report.length; at += 4)
        if (below(2) === 0) report.writeUInt32BE(pick(ssrcs), at);
      third.udp.sendRtcp(report);
      if (index % 20 === 19) await sleep(5);
    }
  });

  test('packets of a member under another member’s SSRC are dropped', async () => {
    const third = await guest();
    const before = b.udp.rtp.length;
    for (let index = 0; index < 500; index += 1) {
      third.udp.sendOpus(Buffer.from('forged'), { ssrc: a.ready.ssrc, seq: 30_000 + index });
      if (index % 20 === 19) await sleep(5);
    }
    await sleep(200);
    expect(b.udp.rtp.slice(before).some(({ payload }) => payload.toString() === 'forged')).toBe(false);
  });
});

const FRAGMENT = [
  'a=extmap-allow-mixed',
  'a=ice-ufrag:abcd',
  `a=ice-pwd:${'p'.repeat(22)}`,
  `a=fingerprint:sha-256 ${Array(32).fill('AB').join(':')}`,
  'a=rtpmap:111 opus/48000/2',
].join('\n');

/** A STUN binding request with that USERNAME, whose integrity is of the wrong password. */
function binding(username: string): Buffer {
  const name = Buffer.from(username);
  const padded = Buffer.alloc((name.length + 3) & ~3);
  name.copy(padded);
  const attribute = Buffer.alloc(4);
  attribute.writeUInt16BE(0x0006);
  attribute.writeUInt16BE(name.length, 2);
  const head = Buffer.alloc(20);
  head.writeUInt16BE(1);
  head.writeUInt16BE(4 + padded.length + 24, 2);
  head.writeUInt32BE(0x2112_a442, 4);
  randomBytes(12).copy(head, 8);
  const signed = Buffer.concat([head, attribute, padded]);
  const integrity = createHmac('sha1', 'wrong').update(signed).digest();
  return Buffer.concat([signed, Buffer.of(0, 8, 0, 20), integrity]);
}

describe('on the browsers’ port', () => {
  test('garbage that looks like STUN, DTLS or media is not answered', async () => {
    const client = await session();
    client.send(VOICE_OP.SELECT_PROTOCOL, { protocol: 'webrtc', data: FRAGMENT });
    const { d } = await client.waitFor(VOICE_OP.SESSION_DESCRIPTION);
    const ufrag = /a=ice-ufrag:(\S+)/.exec(String(d.sdp))![1]!;
    const makes = [
      () => binding(`${ufrag}:abcd`),
      () => binding(randomBytes(below(200)).toString('latin1')),
      () => bent(binding(`${ufrag}:abcd`)),
      () => binding(`${ufrag}:abcd`).subarray(0, below(60)),
      () => Buffer.concat([Buffer.of(20 + below(6), 0xfe, 0xfd), randomBytes(below(400))]),
      () => captured(),
      () => randomBytes(1 + below(1500)),
    ];
    const answers = await storm(3000, () => pick(makes)(), webrtcPort);
    // RFC 8489 has errors for requests; whatever it is, it must not be worth reflecting.
    for (const { length } of answers) expect(length).toBeLessThanOrEqual(120);
  });

  test('SDP of any size and shape is described or refused', async () => {
    const bombs = [
      '',
      'a'.repeat(32 << 10),
      '\n'.repeat(32 << 10),
      'a=rtpmap:111 opus/48000/2\n'.repeat(1000),
      `${FRAGMENT}\n${'a=fmtp:1 apt=1\n'.repeat(390)}`,
      FRAGMENT.replace('abcd', 'ab\r\na=candidate:1'),
      FRAGMENT.replace('abcd', 'a'.repeat(257)),
      FRAGMENT.replace('opus/48000', 'opus/999999'),
      FRAGMENT.replace('111', '4294967407'),
      FRAGMENT.replaceAll('\n', '\0'),
      '😀'.repeat(8000),
      'x'.repeat(33 << 10),
    ];
    for (const data of bombs) {
      const client = await session();
      client.send(VOICE_OP.SELECT_PROTOCOL, { protocol: 'webrtc', data });
      const outcome = await Promise.race([
        client.closed.then(({ code }) => code),
        client.waitFor(VOICE_OP.SESSION_DESCRIPTION).then(
          () => 'described',
          () => client.closed.then(({ code }) => code),
        ),
      ]);
      expect([4012, 4020, 'described']).toContain(outcome);
      await client.terminate();
    }
  });
});

const OPS = [...Object.values(VOICE_OP), -1, 10, 99, 1.5, '2', null];
const VALUES = [
  null,
  true,
  0,
  -1,
  1.5,
  1e99,
  2 ** 53,
  '',
  '1',
  '\ud800',
  '__proto__',
  [],
  {},
  [[]],
  'x'.repeat(5000),
];
const KEYS = [
  ...[
    'server_id',
    'user_id',
    'session_id',
    'token',
    'channel_id',
    'max_dave_protocol_version',
    'streams',
    'video',
  ],
  ...['protocol', 'data', 'address', 'port', 'mode', 'codecs', 'speaking', 'ssrc', 'delay', 'seq_ack', 't'],
  ...[
    'audio_ssrc',
    'video_ssrc',
    'rtx_ssrc',
    'any',
    'pixelCounts',
    'transition_id',
    '__proto__',
    'constructor',
  ],
];

function randomFrame(): string | Buffer {
  const kind = below(10);
  if (kind === 0) return randomBytes(below(300));
  if (kind === 1) return Buffer.concat([Buffer.of(pick([26, 28, 25, 27, 29, 30])), randomBytes(below(2000))]);
  if (kind === 2)
    return pick([
      '',
      '{',
      'null',
      '[]',
      '{"op":',
      '[1,2]',
      '"text"',
      `{"op":3,"d":${'['.repeat(900)}${']'.repeat(900)}}`,
    ]);
  const d = Object.fromEntries(Array.from({ length: below(6) }, () => [pick(KEYS), pick(VALUES)]));
  return JSON.stringify({ op: pick(OPS), d: below(4) === 0 ? pick(VALUES) : d });
}

describe('on the voice gateway', () => {
  const ends = async (client: VoiceClient): Promise<number> => {
    for (let frames = 0; frames < 40; frames += 1) client.sendRaw(randomFrame());
    return Promise.race([client.closed.then(({ code }) => code), sleep(5000, 0)]);
  };

  test('any frames before Identify end with a documented code', async () => {
    for (let round = 0; round < 6; round += 1) {
      const clients = Array.from({ length: 10 }, () => VoiceClient.connect(a.ticket.endpoint, dialect()));
      for (const code of await Promise.all(clients.map(async (client) => ends(await client))))
        expect(documented).toContain(code);
    }
  });

  test('any frames after Identify end with a documented code', async () => {
    for (let round = 0; round < 15; round += 1) expect(documented).toContain(await ends(await session()));
  });

  test.each([
    ['a text frame over its bound', 'x'.repeat((64 << 10) + 1), [4020]],
    ['a binary frame over its bound', Buffer.alloc((512 << 10) + 1, 28), [4020]],
    // Beyond what the native server reads it cuts the connection.
    ['a frame that would never end', Buffer.alloc(2 << 20, 28), [1006, 1009]],
  ])('%s is refused', async (_, frame, codes) => {
    const client = await session();
    client.sendRaw(frame);
    expect(codes).toContain((await client.closed).code);
  });

  test('a flood of text frames is 4021', async () => {
    const client = await session();
    for (let times = 0; times < 400; times += 1) client.beat();
    expect((await client.closed).code).toBe(4021);
  });

  test('a session is not taken over without its token', async () => {
    const { endpoint } = a.ticket;
    const attempts: [VoiceTicket, 'identify' | 'resume', number][] = [
      [{ ...a.ticket, token: 'guessed' }, 'identify', 4004],
      [{ ...a.ticket, token: b.ticket.token }, 'identify', 4004],
      [{ ...a.ticket, userId: b.ticket.userId }, 'identify', 4004],
      [{ ...a.ticket, token: '' }, 'resume', 4004],
      [{ ...a.ticket, token: b.ticket.token }, 'resume', 4004],
      [{ ...a.ticket, sessionId: b.ticket.sessionId }, 'resume', 4004],
      [{ ...a.ticket, sessionId: 'guessed' }, 'resume', 4006],
    ];
    for (const [stolen, how, code] of attempts) {
      const client = await VoiceClient.connect(endpoint, dialect());
      if (how === 'identify') client.identify(stolen, DAVE);
      else client.resume(stolen, 0);
      expect([how, (await client.closed).code]).toEqual([how, code]);
    }
  });

  test('a client cannot speak, send video or answer transitions under another member’s SSRC', async () => {
    const third = await guest();
    const { ssrc } = a.ready;
    third.client.speak(ssrc, 4);
    third.client.send(VOICE_OP.VIDEO, {
      audio_ssrc: ssrc,
      video_ssrc: ssrc,
      rtx_ssrc: b.ready.ssrc,
      streams: [{ type: 'video', rid: '100', active: true, ssrc, rtx_ssrc: b.ready.ssrc, quality: 100 }],
    });
    third.client.send(VOICE_OP.MEDIA_SINK_WANTS, { any: 0, [ssrc]: 0, [b.ready.ssrc]: 0 });
    third.client.send(VOICE_OP.DAVE_TRANSITION_READY, { transition_id: 4242 });
    await talk.goesOn();
    const told = b.client.received.filter(({ d }) => d?.user_id === third.ticket.userId);
    const named = told.flatMap(({ d }) => [d.ssrc, d.audio_ssrc, d.video_ssrc, ...streamsOf(d)]);
    expect(named.filter((each) => each === ssrc || each === b.ready.ssrc)).toEqual([]);
    expect(named).toContain(third.ready.ssrc);
  });

  test('a client that never reads delays no other client', async () => {
    const third = await guest();
    third.client.pause();
    for (let times = 0; times < 200; times += 1) third.client.beat();
    for (let times = 0; times < 100; times += 1) {
      a.client.speak(a.ready.ssrc, 1 + (times % 2) * 2);
      await sleep(30);
    }
    await talk.goesOn();
    third.client.wake();
  });
});

const streamsOf = (d: Record<string, unknown>): unknown[] =>
  ((d.streams ?? []) as { ssrc: number; rtx_ssrc: number }[]).flatMap(({ ssrc, rtx_ssrc }) => [
    ssrc,
    rtx_ssrc,
  ]);

describe('in the encrypted group', () => {
  /** The head of a commit by the first member of the first epoch: late, which alone is no offence. */
  const lateCommit = (): Buffer => {
    const bytes = Buffer.concat([Buffer.from('0001000108', 'hex'), Buffer.alloc(21), randomBytes(300)]);
    bytes.writeBigUInt64BE(BigInt(a.ticket.channelId), 5);
    bytes.writeUInt8(1, 21);
    return bytes;
  };

  test.each([
    ['late commits', 'DAVE_MLS_COMMIT_WELCOME', 4021, lateCommit],
    ['broken commits', 'DAVE_MLS_COMMIT_WELCOME', 4020, () => randomBytes(400)],
    ['key packages', 'DAVE_MLS_KEY_PACKAGE', 4021, null],
    ['key packages of another', 'DAVE_MLS_KEY_PACKAGE', 4020, () => a.dave.session.getSerializedKeyPackage()],
  ] as const)('a flood of %s ends its sender; the others are one group', async (_, op, code, make) => {
    const third = await guest();
    await agreed(a, b, third);
    const own = () => third.dave.session.getSerializedKeyPackage();
    for (let times = 0; times < 200; times += 1) third.client.sendBinary(VOICE_OP[op], (make ?? own)());
    expect((await third.client.closed).code).toBe(code);
    await agreed(a, b);
  });

  test('a client that floods invalid-commit reports is closed with 4021', async () => {
    const third = await guest();
    await agreed(a, b, third);
    for (let times = 0; times < 100; times += 1)
      third.client.send(VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME, { transition_id: below(65_536) });
    expect((await third.client.closed).code).toBe(4021);
    await agreed(a, b);
  });
});

test('two members hear each other through all attacks, and the server’s memory stays bounded', async () => {
  for (const line of talk.lines) {
    line.listen();
    const sent = Math.min(line.sent, 65_536);
    const lost = sent - line.arrived.size;
    expect(lost).toBeLessThanOrEqual(Math.max(5, sent * LOSS_MAX));
    expect(line.from.dave.failures).toEqual([]);
  }
  expect((await server.rssBytes()) - rssAtStart).toBeLessThan(GROWTH_BYTES_MAX);
  expect(server.complaints).toEqual([]);
});
