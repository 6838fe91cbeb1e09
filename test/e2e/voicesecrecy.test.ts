// Goal: the server holds no key that opens a frame: its whole memory is searched, in the middle of a call, for every secret
// of that call, and what it holds opens the outer layer alone.
import { randomBytes } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngine } from '../../main.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { DAVE_MARKER, VOICE_OP } from '../../protocol/voice.ts';
import { makePackage, welcomed } from '../media/dave/mlsguest.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { agreed, type Caller, callIn } from '../support/voice-caller.ts';
import { connectUdp, joinChannel, VoiceClient, type VoiceTicket } from '../support/voice-client.ts';
import { openRtp, TransportCipher } from '../support/voice-rtp.ts';
import { exported, opened, ratchet } from '../support/voice-secrets.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 3 });
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await server?.finish();
});

const SILENCE = Uint8Array.of(0xf8, 0xff, 0xfe);
const dialect = () => ({ caFile: server.info.ca_file });

async function ticketOf(bot: number): Promise<VoiceTicket> {
  const { gateway: url, bots, guild } = server.info;
  const gateway = await GatewayClient.ready(url, { token: bots[bot]!.token });
  closers.push(() => gateway.close());
  return joinChannel(gateway, guild.id, guild.voice_channel_id);
}

async function caller(bot: number): Promise<Caller> {
  const joined = await callIn(await ticketOf(bot), dialect());
  closers.push(() => joined.close());
  // Where its media is to go.
  joined.udp.sendOpus(SILENCE);
  return joined;
}

/** A third member that is no stock client: it knows every secret of its epoch, and reveals them. */
async function guest() {
  const ticket = await ticketOf(2);
  const identify = { max_dave_protocol_version: 1 };
  const { client, udp } = await connectUdp(ticket, dialect(), { identify });
  closers.push(
    () => udp.close(),
    () => client.terminate(),
  );
  const made = await makePackage(ticket.userId);
  client.sendBinary(VOICE_OP.DAVE_MLS_KEY_PACKAGE, made.bytes);
  const { payload } = await client.waitFor(VOICE_OP.DAVE_MLS_WELCOME);
  client.send(VOICE_OP.DAVE_TRANSITION_READY, { transition_id: payload!.readUInt16BE(0) });
  await client.waitFor(VOICE_OP.DAVE_EXECUTE_TRANSITION);
  return { made, state: await welcomed(made, payload!.subarray(2)) };
}

const CHUNK_BYTES = 16 << 20;
const PAGE_BYTES = 4096;

/** The secrets that lie anywhere in the writable memory of a process: of all its threads, native or not. */
async function foundIn(pid: number, sought: ReadonlyMap<string, Buffer>): Promise<Set<string>> {
  const found = new Set<string>();
  const longest = Math.max(...[...sought.values()].map((bytes) => bytes.length));
  const chunk = Buffer.alloc(CHUNK_BYTES + longest);
  const memory = await open(`/proc/${pid}/mem`);
  try {
    for (const line of (await readFile(`/proc/${pid}/maps`, 'utf8')).split('\n')) {
      const range = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
      if (!range) continue;
      const end = Number.parseInt(range[2]!, 16);
      for (let at = Number.parseInt(range[1]!, 16); at < end; ) {
        const length = Math.min(chunk.length, end - at);
        // Pages that the process gave back meanwhile cannot be read, and hold nothing.
        const { bytesRead } = await memory.read(chunk, 0, length, at).catch(() => ({ bytesRead: 0 }));
        const read = chunk.subarray(0, bytesRead);
        for (const [name, bytes] of sought) if (!found.has(name) && read.includes(bytes)) found.add(name);
        at += bytesRead === length ? Math.min(length, CHUNK_BYTES) : bytesRead + PAGE_BYTES;
      }
    }
  } finally {
    await memory.close();
  }
  return found;
}

/** Bytes as they are, and as text that may stand for them. */
function spelt(secrets: Readonly<Record<string, Uint8Array>>): Map<string, Buffer> {
  const forms = new Map<string, Buffer>();
  for (const [name, bytes] of Object.entries(secrets)) {
    const own = Buffer.from(bytes);
    forms.set(name, own);
    forms.set(`${name} in hex`, Buffer.from(own.toString('hex')));
    forms.set(`${name} in base64`, Buffer.from(own.toString('base64').replace(/=+$/, '')));
  }
  return forms;
}

// Only Linux shows a process the memory of its child.
test.runIf(process.platform === 'linux')(
  'no secret of a call is anywhere in the memory of its server',
  async () => {
    const [speaker, listener] = [await caller(0), await caller(1)];
    await agreed(speaker, listener);
    const { made, state } = await guest();
    await agreed(speaker, listener);

    const said = randomBytes(80);
    const outer: Buffer[] = [];
    listener.udp.socket.on('message', (packet) => outer.push(packet));
    const sealed = speaker.dave.encrypt(said);
    speaker.udp.sendOpus(sealed);
    const { payload } = await listener.udp.nextRtp((packet) => packet.payload.equals(sealed));

    // The guest derives the key that sealed the frame, so these are the right secrets.
    const { keySchedule, privatePath } = state;
    const base = exported(keySchedule.exporterSecret, speaker.ticket.userId);
    const key = ratchet(base);
    expect(opened(payload, key)).toEqual(said);
    expect(listener.dave.decrypt(speaker.ticket.userId, payload)).toEqual(said);

    // The key that the server does hold takes off the outer layer, and beneath it is the frame as it was sealed.
    const description = listener.client.received.find(({ op }) => op === VOICE_OP.SESSION_DESCRIPTION)!.d;
    const transportKey = Uint8Array.from(description.secret_key as number[]);
    const cipher = new TransportCipher('aead_aes256_gcm_rtpsize', transportKey);
    const inner = outer.map((packet) => openRtp(cipher, packet)?.payload).find((one) => one?.equals(sealed));
    expect(inner?.readUInt16BE(inner.length - 2)).toBe(DAVE_MARKER);
    expect(inner?.includes(said)).toBe(false);
    for (let at = 0; at + 16 <= transportKey.length; at += 1) {
      const part = transportKey.subarray(at, at + 16);
      for (const one of [part, ratchet(part)]) expect(opened(payload, one)).toBeNull();
    }

    const secrets: Record<string, Uint8Array> = {
      said,
      base,
      key,
      ...keySchedule,
      'private key of the guest’s leaf': made.secrets.hpkePrivateKey.subarray(-32),
      'private key of the guest’s package': made.secrets.initPrivateKey.subarray(-32),
    };
    for (const [node, privateKey] of Object.entries(privatePath.privateKeys))
      secrets[`private key of node ${node}`] = privateKey.subarray(-32);
    const held = { 'transport key': Buffer.from(transportKey), 'sealed frame': sealed };
    const found = await foundIn(server.child.pid!, new Map([...spelt(secrets), ...Object.entries(held)]));
    // These secrets are found, so the search works.
    expect([...found].sort()).toEqual(Object.keys(held).sort());
  },
  60_000,
);

test('no log line, metric or listing contains a key, a ticket or a token', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const engine = await createEngine({ logger, config: { listen_port: 0, log_level: 'trace' } });
  try {
    const { voice, gateway: url } = await engine.listen();
    const { user } = await engine.admin.createUser({ username: 'keeper' });
    const ownerId = user.id as UserId;
    const guild = await engine.admin.createGuild({ name: 'Harbour', ownerId });
    const channels = { params: { guild_id: guild.id }, body: { name: 'Deck', type: 2 } } as const;
    const { id } = await engine.api.create_guild_channel(channels, { as: ownerId });
    const secrets: Record<string, Uint8Array> = {};
    const callers: Caller[] = [];
    for (const name of ['Ann', 'Ben']) {
      const { bot, botToken } = await engine.admin.createApplication({ name, ownerId });
      await engine.admin.addMember({ guildId: guild.id as GuildId, userId: bot.id as UserId });
      const gateway = await GatewayClient.ready(url, { token: botToken });
      const ticket = await joinChannel(gateway, guild.id, id);
      const joined = await callIn(ticket, { caFile: voice!.caFile });
      closers.push(
        () => gateway.close(),
        () => joined.close(),
      );
      const description = joined.client.received.find(({ op }) => op === VOICE_OP.SESSION_DESCRIPTION)!.d;
      secrets[`key of ${name}`] = Uint8Array.from(description.secret_key as number[]);
      secrets[`ticket of ${name}`] = Buffer.from(ticket.token);
      secrets[`token of ${name}`] = Buffer.from(botToken);
      callers.push(joined);
    }
    const [a, b] = callers as [Caller, Caller];
    await agreed(a, b);
    // Faults are reported without the secret that caused them.
    const wrong = await VoiceClient.connect(a.ticket.endpoint, { caFile: voice!.caFile });
    wrong.identify({ ...a.ticket, token: b.ticket.token });
    expect((await wrong.closed).reason).not.toContain(b.ticket.token);
    b.client.sendBinary(VOICE_OP.DAVE_MLS_COMMIT_WELCOME, randomBytes(64));
    await b.client.closed;
    logger.trace('the last line');

    const pem = await readFile(join(dirname(voice!.caFile!), 'authority.key.pem'), 'utf8');
    const body = /-----BEGIN PRIVATE KEY-----\s+(\S+)/.exec(pem)?.[1];
    secrets['key of the authority'] = Buffer.from(body!);
    const told = [...lines, await engine.metrics(), JSON.stringify(await engine.calls.list())].join('\n');
    expect(told).toContain('the last line');
    expect(told).toContain(a.ticket.userId);
    const leaks = [...spelt(secrets)].filter(([, bytes]) => told.includes(bytes.toString('latin1')));
    expect(leaks.map(([name]) => name)).toEqual([]);
    for (const [name, bytes] of Object.entries(secrets))
      expect([name, told.includes([...bytes].join(','))]).toEqual([name, false]);
  } finally {
    await engine.close();
  }
});
