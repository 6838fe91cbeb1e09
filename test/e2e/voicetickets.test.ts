// Goal: a ticket lets its user into the one seat it was given for, and every dialect of the voice gateway is spoken as its
// clients expect it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { agreed, type Caller, callIn } from '../support/voice-caller.ts';
import { joinChannel, VoiceClient, type VoiceTicket } from '../support/voice-client.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 3, set: { e2ee_required: false } });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => server?.finish());

const guildId = () => server.info.guild.id;
const channelId = () => server.info.guild.voice_channel_id;

async function online(bot: number): Promise<GatewayClient> {
  const { gateway: url, bots } = server.info;
  const gateway = await GatewayClient.ready(url, { token: bots[bot]!.token });
  closers.push(() => gateway.close());
  return gateway;
}

const isJoined = async (bot: number): Promise<VoiceTicket> =>
  joinChannel(await online(bot), guildId(), channelId());

async function connect(ticket: VoiceTicket, v = 8): Promise<VoiceClient> {
  const client = await VoiceClient.connect(ticket.endpoint, { v, caFile: server.info.ca_file });
  closers.push(() => client.terminate());
  return client;
}

const identified = async (ticket: VoiceTicket, v = 8): Promise<VoiceClient> => {
  const client = await connect(ticket, v);
  client.identify(ticket);
  await client.waitFor(VOICE_OP.READY);
  return client;
};

const codeOf = async (client: VoiceClient) => (await client.closed).code;

describe('a ticket', () => {
  test('is rejected for another user, token or server', async () => {
    const [mine, theirs] = [await isJoined(0), await isJoined(1)];
    const wrong: [Partial<VoiceTicket>, number][] = [
      [{ token: theirs.token }, 4004],
      [{ token: '' }, 4004],
      [{ userId: theirs.userId }, 4004],
      [{ userId: theirs.userId, token: theirs.token }, 4006],
      [{ serverId: channelId() }, 4011],
    ];
    for (const [part, code] of wrong) {
      const client = await connect(mine);
      client.identify({ ...mine, ...part });
      expect([part, await codeOf(client)]).toEqual([part, code]);
    }
    // The owners of the tickets lose nothing by it.
    await identified(mine);
    await identified(theirs);
  });

  test('admits one of two connections that present it at once', async () => {
    const ticket = await isJoined(0);
    const both = [await connect(ticket), await connect(ticket)] as const;
    for (const client of both) client.identify(ticket);
    const lost = await Promise.race(both.map(async (client, at) => ({ at, code: await codeOf(client) })));
    expect(lost.code).toBe(4014);
    const winner = both[1 - lost.at]!;
    await winner.waitFor(VOICE_OP.READY);
    winner.beat(7);
    expect((await winner.waitFor(VOICE_OP.HEARTBEAT_ACK, ({ d }) => d.t === 7)).d).toEqual({ t: 7 });
  });

  test('is rejected once its member has moved to another channel or left', async () => {
    const gateway = await online(0);
    const before = await joinChannel(gateway, guildId(), channelId());
    const client = await identified(before);
    const made = await server.bot().ask<{ id: string }>('create_guild_channel', {
      params: { guild_id: guildId() },
      body: { name: 'Upstairs', type: 2 },
    });
    const after = await joinChannel(gateway, guildId(), made.body.id);
    expect(await codeOf(client)).toBe(4014);
    expect(after.token).not.toBe(before.token);
    const again = async (ask: (client: VoiceClient) => void): Promise<number> => {
      const next = await connect(before);
      ask(next);
      return codeOf(next);
    };
    expect(await again((next) => next.identify(before))).toBe(4004);
    // Nobody has a session with the next ticket yet, as after a change of owners.
    expect(await again((next) => next.resume(before, client.seq))).toBe(4006);
    await identified(after);
    expect(await again((next) => next.resume(before, client.seq))).toBe(4004);

    gateway.send(4, { guild_id: guildId(), channel_id: null, self_mute: false, self_deaf: false });
    await gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.channel_id === null);
    expect(await again((next) => next.identify(after))).toBe(4011);
    expect(await again((next) => next.resume(after, 1))).toBe(4006);
  });
});

describe('a client of version', () => {
  test.each([4, 5, 6, 7])(
    '%i beats with a bare number, sees no numbers, and resumes without any',
    async (v) => {
      const ticket = await isJoined(0);
      const other = await identified(await isJoined(1));
      const client = await identified(ticket, v);
      client.send(VOICE_OP.HEARTBEAT, 1_501_184_119_561);
      expect((await client.waitFor(VOICE_OP.HEARTBEAT_ACK)).d).toBe(1_501_184_119_561);
      other.speak(1);
      await client.waitFor(VOICE_OP.SPEAKING, ({ d }) => d.speaking === 1);
      expect(client.received.filter(({ seq }) => seq !== null)).toEqual([]);

      await client.terminate();
      const back = await connect(ticket, v);
      const { serverId: server_id, sessionId: session_id, token } = ticket;
      back.send(VOICE_OP.RESUME, { server_id, session_id, token });
      expect((await back.waitFor(VOICE_OP.RESUMED)).d).toBeNull();
      await back.waitFor(VOICE_OP.CLIENTS_CONNECT);
      expect(back.received.filter(({ seq }) => seq !== null)).toEqual([]);
    },
  );

  test('8 receives the frames that it had not acknowledged, and none twice', async () => {
    const ticket = await isJoined(0);
    const other = await identified(await isJoined(1));
    const client = await identified(ticket);
    other.speak(1);
    await client.waitFor(VOICE_OP.SPEAKING, ({ d }) => d.speaking === 1);
    const { seq } = client;
    client.beat(1);
    await client.waitFor(VOICE_OP.HEARTBEAT_ACK);
    await client.terminate();
    await other.close();
    const back = await connect(ticket);
    back.resume(ticket, seq);
    await back.waitFor(VOICE_OP.CLIENT_DISCONNECT);
    const numbers = back.received.flatMap((frame) => frame.seq ?? []);
    expect(numbers).toEqual(numbers.map((_, at) => seq + 1 + at));
    // Acknowledged messages are evicted, so a client that asks for older ones cannot resume, and gets a new ticket.
    await back.terminate();
    const stale = await connect(ticket);
    stale.resume(ticket, seq - 1);
    expect(await codeOf(stale)).toBe(4006);
  });

  test('8 that missed a group change receives binary and JSON frames in one order', async () => {
    const dialect = { caFile: server.info.ca_file };
    const inCall = async (bot: number): Promise<Caller> => {
      const joined = await callIn(await isJoined(bot), dialect);
      closers.push(() => joined.close());
      return joined;
    };
    const [a, b] = [await inCall(0), await inCall(1)];
    await agreed(a, b);
    const { seq } = b.client;
    await b.client.terminate();
    const c = await inCall(2);
    await agreed(a, c);
    const back = await connect(b.ticket);
    back.resume(b.ticket, seq);
    await back.waitFor(VOICE_OP.DAVE_EXECUTE_TRANSITION);
    const replayed = back.received.filter((frame) => frame.seq !== null);
    expect(replayed.map((frame) => frame.seq)).toEqual(replayed.map((_, at) => seq + 1 + at));
    const ops = replayed.map(({ op }) => op);
    const { CLIENTS_CONNECT, DAVE_MLS_PROPOSALS, DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION } = VOICE_OP;
    const steps = [CLIENTS_CONNECT, DAVE_MLS_PROPOSALS, DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION];
    expect(ops.filter((op) => steps.includes(op as never))).toEqual(steps);
  });
});
