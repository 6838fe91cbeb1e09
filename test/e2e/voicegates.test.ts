// Goal: what moderators, permissions and stages say of a member holds for its media, not only for what is shown of it.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { type NewBot, startServer, type TestServer } from '../support/server.ts';
import { connectUdp, joinChannel } from '../support/voice-client.ts';

let server: TestServer;
/** A member with no more permissions than everyone. */
let plain: NewBot;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 3, set: { e2ee_required: false } });
  plain = await server.newBot('Wick');
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => server?.finish());

const guildId = () => server.info.guild.id;

async function online(token: string): Promise<GatewayClient> {
  const gateway = await GatewayClient.ready(server.info.gateway, { token });
  closers.push(() => gateway.close());
  return gateway;
}

async function caller(token: string, channelId: string) {
  const gateway = await online(token);
  const ticket = await joinChannel(gateway, guildId(), channelId);
  const joined = await connectUdp(ticket, { caFile: server.info.ca_file });
  closers.push(
    () => joined.udp.close(),
    () => joined.client.terminate(),
  );
  let datagrams = 0;
  joined.udp.socket.on('message', () => {
    datagrams += 1;
  });
  return { ...joined, gateway, ticket, datagrams: () => datagrams };
}
type Caller = Awaited<ReturnType<typeof caller>>;

async function newChannel(body: object): Promise<string> {
  const params = { guild_id: guildId() };
  const made = await server.bot().ask<{ id: string }>('create_guild_channel', { params, body });
  expect(made.status).toBe(201);
  return made.body.id;
}

/** As an administrator; what it changes has reached the media when it resolves. */
async function change(operation: string, params: Record<string, string>, body?: object): Promise<void> {
  const { status } = await server.bot().ask(operation, { params, body });
  expect(status).toBeLessThan(300);
  await settled();
}

/** Media may be a moment behind the dispatches to members; its metrics follow all orders it has received. */
async function settled(): Promise<void> {
  await sleep(50);
  await (await fetch(`${server.info.admin.url}/metrics`)).text();
}

const member = (id: string) => ({ guild_id: guildId(), user_id: id });

let words = 0;
/** Whether each of the listeners receives what is played now. */
async function heardBy(from: Caller, ...listeners: readonly Caller[]): Promise<boolean[]> {
  words += 1;
  const payload = Buffer.from(`word ${words}`);
  from.client.speak(from.ready.ssrc);
  for (let times = 0; times < 20; times += 1) {
    from.udp.sendOpus(payload);
    await sleep(20);
  }
  await settled();
  await sleep(100);
  return listeners.map(({ udp }) => udp.rtp.some((packet) => packet.payload.equals(payload)));
}

/** A sender report about nothing heard. @source RFC 3550, 6.4.1 */
function senderReport(ssrc: number): Buffer {
  const report = Buffer.alloc(28);
  report.set([0x80, 200, 0, 6]);
  report.writeUInt32BE(ssrc, 4);
  return report;
}

describe('a deafened member', () => {
  test.each(['by a moderator', 'by itself'])('receives no datagram when deafened %s', async (how) => {
    const channelId = server.info.guild.voice_channel_id;
    const [a, b, c] = [
      await caller(server.info.bots[0]!.token, channelId),
      await caller(plain.token, channelId),
      await caller(server.info.bots[2]!.token, channelId),
    ];
    expect(await heardBy(a, b, c)).toEqual([true, true]);
    const deafen = async (deaf: boolean) => {
      if (how === 'by a moderator') await change('update_guild_member', member(plain.id), { deaf });
      else {
        const place = { guild_id: guildId(), channel_id: channelId };
        b.gateway.send(4, { ...place, self_mute: false, self_deaf: deaf });
        await a.gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.user_id === plain.id && d.self_deaf === deaf);
        await settled();
      }
    };
    await deafen(true);
    await sleep(100);
    const before = b.datagrams();
    const reports = c.udp.rtcp.length;
    a.udp.sendRtcp(senderReport(a.ready.ssrc));
    expect(await heardBy(a, b, c)).toEqual([false, true]);
    expect(c.udp.rtcp.length).toBe(reports + 1);
    expect(b.datagrams()).toBe(before);
    await deafen(false);
    expect(await heardBy(a, b)).toEqual([true]);
  });
});

describe('on a stage', () => {
  test('a guest is heard only between being brought up and stepping down', async () => {
    const channelId = await newChannel({ name: 'round', type: 13 });
    const [host, guest] = [
      await caller(server.info.bots[0]!.token, channelId),
      await caller(plain.token, channelId),
    ];
    expect(await heardBy(guest, host)).toEqual([false]);
    expect(await heardBy(host, guest)).toEqual([true]);

    const own = server.restOf(`Bot ${plain.token}`);
    const place = { params: { guild_id: guildId() } };
    const raised = { channel_id: channelId, request_to_speak_timestamp: new Date().toISOString() };
    expect((await own.ask('update_self_voice_state', { ...place, body: raised })).status).toBe(204);
    await host.gateway.dispatch(
      'VOICE_STATE_UPDATE',
      (d) => d.user_id === plain.id && d.request_to_speak_timestamp !== null,
    );
    const up = { channel_id: channelId, suppress: false };
    expect((await own.ask('update_self_voice_state', { ...place, body: up })).status).toBe(403);
    expect(await heardBy(guest, host)).toEqual([false]);

    await change('update_voice_state', member(plain.id), up);
    expect(await heardBy(guest, host)).toEqual([true]);
    const down = { channel_id: channelId, suppress: true };
    expect((await own.ask('update_self_voice_state', { ...place, body: down })).status).toBe(204);
    await settled();
    expect(await heardBy(guest, host)).toEqual([false]);
  });
});

describe('a permission', () => {
  test('takes effect at once during a call if it is the permission to speak', async () => {
    const channelId = await newChannel({ name: 'quiet', type: 2 });
    const [a, b] = [
      await caller(server.info.bots[0]!.token, channelId),
      await caller(plain.token, channelId),
    ];
    expect(await heardBy(b, a)).toEqual([true]);
    const everyone = { channel_id: channelId, overwrite_id: guildId() };
    await change('set_channel_permission_overwrite', everyone, { type: 0, allow: '0', deny: '2097152' });
    await a.gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.user_id === plain.id && d.suppress === true);
    await settled();
    expect(await heardBy(b, a)).toEqual([false]);
    await change('delete_channel_permission_overwrite', everyone);
    await a.gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.user_id === plain.id && d.suppress === false);
    await settled();
    expect(await heardBy(b, a)).toEqual([true]);
  });

  test('is checked when a member sends the flag of a priority speaker', async () => {
    const channelId = await newChannel({ name: 'first', type: 2 });
    const [a, b] = [
      await caller(server.info.bots[0]!.token, channelId),
      await caller(plain.token, channelId),
    ];
    a.client.speak(a.ready.ssrc, 5);
    b.client.speak(b.ready.ssrc, 5);
    const told = (to: Caller, of: Caller) =>
      to.client.waitFor(VOICE_OP.SPEAKING, ({ d }) => d.ssrc === of.ready.ssrc && d.speaking !== 0);
    expect((await told(b, a)).d.speaking).toBe(5);
    expect((await told(a, b)).d.speaking).toBe(1);
  });
});

test('a full voice channel ignores a join, except by members who may move members', async () => {
  const channelId = await newChannel({ name: 'small', type: 2, user_limit: 1 });
  const [first, second, mover] = [
    await online(server.info.bots[0]!.token),
    await online(plain.token),
    await online(server.info.bots[1]!.token),
  ];
  await joinChannel(first, guildId(), channelId);
  await second.settled(guildId());
  const before = second.received.length;
  second.send(4, { guild_id: guildId(), channel_id: channelId, self_mute: false, self_deaf: false });
  await second.settled(guildId());
  const names = second.received.slice(before).map(({ t, op }) => t ?? op);
  expect(names).toEqual(['GUILD_MEMBERS_CHUNK']);
  expect((await joinChannel(mover, guildId(), channelId)).channelId).toBe(channelId);
});

test('CHANNEL_INFO carries status and start of a voice channel, the channel object neither', async () => {
  const channelId = await newChannel({ name: 'live', type: 2 });
  const first = await online(server.info.bots[0]!.token);
  await joinChannel(first, guildId(), channelId);
  await change('update_voice_channel_status', { channel_id: channelId }, { status: 'Raiding' });

  const shapes: Record<string, unknown>[] = [];
  const { body: alone } = await server.bot().ask<Record<string, unknown>>('get_channel', {
    params: { channel_id: channelId },
  });
  const { body: all } = await server.bot().ask<Record<string, unknown>[]>('list_guild_channels', {
    params: { guild_id: guildId() },
  });
  shapes.push(alone, ...all);
  const late = await online(server.info.bots[1]!.token);
  for (const { t, d } of late.received) if (t === 'GUILD_CREATE') shapes.push(...(d.channels as []), d);
  await change('update_channel', { channel_id: channelId }, { name: 'lively' });
  const updated = (d: Record<string, unknown>) => d.id === channelId;
  shapes.push(await late.dispatch('CHANNEL_UPDATE', updated));
  expect(shapes.filter(({ id }) => id === channelId).length).toBe(4);
  for (const shape of shapes) {
    expect(shape).not.toHaveProperty('status');
    expect(shape).not.toHaveProperty('voice_start_time');
  }

  late.send(43, { guild_id: guildId(), fields: ['status', 'voice_start_time'] });
  const info = await late.dispatch<{ channels: { id: string }[] }>('CHANNEL_INFO');
  expect(info.channels.find(({ id }) => id === channelId)).toEqual({
    id: channelId,
    status: 'Raiding',
    voice_start_time: expect.any(Number),
  });
});
