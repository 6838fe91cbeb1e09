// Goal: somebody in a voice channel goes live, others there watch and hear it end-to-end encrypted, bots are refused, and a
// stream ends with its owner's place, leave or wish.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { agreed, type Caller, Camera, callIn, seenIn } from '../support/voice-caller.ts';
import { joinChannel, type VoiceTicket } from '../support/voice-client.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 1 });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => server?.finish());

const place = () => ({ guild_id: server.info.guild.id, channel_id: server.info.guild.voice_channel_id });

interface Person {
  readonly gateway: GatewayClient;
  readonly ticket: VoiceTicket;
}

/** A person in the voice channel, on the gateway alone. */
async function person(index: number): Promise<Person> {
  const { gateway: url, users } = server.info;
  const gateway = await GatewayClient.ready(url, { token: users[index]!.token });
  closers.push(() => gateway.close());
  const { guild_id: guildId, channel_id: channelId } = place();
  return { gateway, ticket: await joinChannel(gateway, guildId, channelId) };
}

const keyOf = ({ gateway }: Person): string => {
  const { guild_id: guildId, channel_id: channelId } = place();
  return `guild:${guildId}:${channelId}:${gateway.userId}`;
};

interface ReceivedStream extends Record<string, unknown> {
  readonly rtc_server_id: string;
  readonly rtc_channel_id: string;
}

/** The ticket to a stream that a client received in answer to op 18 or 20. */
async function streamTicket(
  { gateway, ticket }: Person,
  key: string,
): Promise<VoiceTicket & { told: ReceivedStream }> {
  const told = await gateway.dispatch<ReceivedStream>('STREAM_CREATE', (d) => d.stream_key === key);
  const at = await gateway.dispatch('STREAM_SERVER_UPDATE', (d) => d.stream_key === key);
  expect(at).toMatchObject({ guild_id: server.info.guild.id });
  const { rtc_server_id: serverId, rtc_channel_id: channelId } = told;
  const { endpoint, token } = at as Record<string, string>;
  return { ...ticket, endpoint: endpoint!, token: token!, serverId, channelId, told };
}

const goLive = ({ gateway }: Person): void =>
  gateway.send(OP.STREAM_CREATE, { type: 'guild', ...place(), preferred_region: null });
const watch = ({ gateway }: Person, key: string): void => gateway.send(OP.STREAM_WATCH, { stream_key: key });
const gone = ({ gateway }: Person, key: string) =>
  gateway.dispatch('STREAM_DELETE', (d) => d.stream_key === key);
const shows = (watcher: Person, owner: Person, live: boolean) =>
  watcher.gateway.dispatch(
    'VOICE_STATE_UPDATE',
    (d) => d.user_id === owner.gateway.userId && d.channel_id !== null && d.self_stream === live,
  );

async function callOf(ticket: VoiceTicket, identify: object): Promise<Caller> {
  const dialect = { caFile: server.info.ca_file, v: 9 };
  const caller = await callIn(ticket, dialect, { identify: { ...identify } });
  closers.push(() => caller.close());
  caller.udp.sendOpus(Uint8Array.of(0xf8, 0xff, 0xfe));
  return caller;
}

const SCREEN = { video: true, streams: [{ type: 'screen', rid: '100', quality: 100 }] };

describe('a stream', () => {
  test('is shown on its owner, watched and heard under encryption of its own, and ends with its owner', async () => {
    const [owner, viewer] = [await person(0), await person(1)];
    const key = keyOf(owner);
    goLive(owner);
    await shows(viewer, owner, true);
    const own = await streamTicket(owner, key);
    expect(own.told).toMatchObject({ stream_key: key, region: 'local', viewer_ids: [], paused: false });
    expect(BigInt(own.told.rtc_server_id) - BigInt(own.told.rtc_channel_id)).toBe(1n);

    watch(viewer, key);
    const theirs = await streamTicket(viewer, key);
    const viewerId = viewer.gateway.userId;
    expect(theirs.told).toEqual({ ...own.told, viewer_ids: [viewerId] });
    expect(await owner.gateway.dispatch('STREAM_UPDATE')).toMatchObject({
      stream_key: key,
      viewer_ids: [viewerId],
    });

    const a = await callOf(own, SCREEN);
    const b = await callOf(theirs, { video: true });
    await agreed(a, b);
    const [screen] = a.ready.streams ?? [];
    a.client.send(VOICE_OP.VIDEO, {
      audio_ssrc: a.ready.ssrc,
      video_ssrc: screen!.ssrc,
      rtx_ssrc: screen!.rtx_ssrc,
      streams: [{ type: 'screen', rid: '100', quality: 100, active: true, ssrc: screen!.ssrc }],
    });
    a.client.speak(a.ready.ssrc, 2);
    expect((await b.client.waitFor(VOICE_OP.VIDEO)).d).toMatchObject({ user_id: owner.gateway.userId });
    await b.client.waitFor(VOICE_OP.SPEAKING, ({ d }) => d.speaking === 2);
    // Media may be a moment behind; a screen shows its keyframe again when it is asked.
    const film = new Camera(a, { ssrc: screen!.ssrc, payloadType: 103, seq: 7 });
    await expect
      .poll(() => {
        film.film(true, 'a picture');
        return b.udp.rtp.some(({ ssrc }) => ssrc === screen!.ssrc);
      })
      .toBe(true);
    const picture = await b.udp.nextRtp(({ ssrc }) => ssrc === screen!.ssrc);
    expect(seenIn(b, owner.gateway.userId, picture.payload)).toBe('a picture');
    a.udp.sendOpus(a.dave.encrypt(Buffer.from('and its sound')));
    const sound = await b.udp.nextRtp(({ ssrc, payload }) => ssrc === a.ready.ssrc && payload.length > 3);
    expect(b.dave.decrypt(owner.gateway.userId, sound.payload).toString()).toBe('and its sound');

    // A viewer is not heard.
    b.udp.sendOpus(b.dave.encrypt(Buffer.from('hush')));
    await (await fetch(`${server.info.admin.url}/metrics`)).text();
    expect(a.udp.rtp).toEqual([]);

    const { guild_id } = place();
    owner.gateway.send(OP.VOICE_STATE_UPDATE, {
      guild_id,
      channel_id: null,
      self_mute: false,
      self_deaf: false,
    });
    expect(await gone(viewer, key)).toEqual({ stream_key: key, reason: 'stream_ended' });
    expect(await gone(owner, key)).toEqual({ stream_key: key, reason: 'invalid_channel' });
    expect((await a.client.closed).code).toBe(4022);
    expect((await b.client.closed).code).toBe(4022);
  });

  test('is paused and stopped by its owner, and left by its viewer', async () => {
    const [owner, viewer] = [await person(0), await person(1)];
    const key = keyOf(owner);
    goLive(owner);
    await streamTicket(owner, key);
    watch(viewer, key);
    const ticket = await streamTicket(viewer, key);
    const call = await callOf(ticket, { video: true });
    viewer.gateway.send(OP.STREAM_SET_PAUSED, { stream_key: key, paused: true });
    owner.gateway.send(OP.STREAM_SET_PAUSED, { stream_key: key, paused: true });
    expect(await viewer.gateway.dispatch('STREAM_UPDATE')).toMatchObject({ stream_key: key, paused: true });
    viewer.gateway.send(OP.STREAM_DELETE, { stream_key: key });
    expect(await gone(viewer, key)).toEqual({ stream_key: key, reason: 'user_requested' });
    expect((await call.client.closed).code).toBe(4014);
    await owner.gateway.dispatch(
      'STREAM_UPDATE',
      (d) => (d.viewer_ids as string[]).length === 0 && d.paused === true,
    );

    // A user who has not connected receives the address again, with another ticket.
    owner.gateway.send(OP.STREAM_PING, { stream_key: key });
    await owner.gateway.dispatch('STREAM_SERVER_UPDATE', (d) => d.stream_key === key);
    owner.gateway.send(OP.STREAM_DELETE, { stream_key: key });
    expect(await gone(owner, key)).toEqual({ stream_key: key, reason: 'user_requested' });
    await shows(viewer, owner, false);
    watch(viewer, key);
    expect(await gone(viewer, key)).toEqual({ stream_key: key, reason: 'stream_ended' });
  });

  test('is rejected without the permission, and ended when its owner loses the permission', async () => {
    const owner = await person(0);
    const key = keyOf(owner);
    goLive(owner);
    await streamTicket(owner, key);
    const params = { channel_id: place().channel_id, overwrite_id: owner.gateway.userId };
    await server
      .bot(0)
      .call('set_channel_permission_overwrite', { params, body: { type: 1, deny: String(1n << 9n) } });
    expect(await gone(owner, key)).toEqual({ stream_key: key, reason: 'unauthorized' });
    goLive(owner);
    expect(await gone(owner, key)).toEqual({ stream_key: key, reason: 'unauthorized' });
    await server.bot(0).call('delete_channel_permission_overwrite', { params });
  });

  test('is started and watched only by members in its voice channel', async () => {
    const { gateway: url, users } = server.info;
    const outside = await GatewayClient.ready(url, { token: users[1]!.token });
    closers.push(() => outside.close());
    const owner = await person(0);
    const key = keyOf(owner);
    goLive(owner);
    await streamTicket(owner, key);
    outside.send(OP.STREAM_WATCH, { stream_key: key });
    expect(await outside.dispatch('STREAM_DELETE')).toEqual({ stream_key: key, reason: 'invalid_channel' });
    outside.send(OP.STREAM_CREATE, { type: 'guild', ...place() });
    expect(await outside.dispatch('STREAM_DELETE')).toMatchObject({ reason: 'invalid_channel' });
  });

  test('works in a private call too', async () => {
    const { gateway: url, users } = server.info;
    const { id: channelId } = await server
      .user(0)
      .call<{ id: string }>('create_dm', { body: { recipient_id: users[1]!.id } });
    const people = await Promise.all(
      [0, 1].map(async (index) => {
        const gateway = await GatewayClient.ready(url, { token: users[index]!.token });
        closers.push(() => gateway.close());
        gateway.send(OP.VOICE_STATE_UPDATE, { guild_id: null, channel_id: channelId });
        await gateway.dispatch('VOICE_SERVER_UPDATE', (d) => d.channel_id === channelId);
        return gateway;
      }),
    );
    const [owner, viewer] = people as [GatewayClient, GatewayClient];
    const key = `call:${channelId}:${owner.userId}`;
    owner.send(OP.STREAM_CREATE, { type: 'call', channel_id: channelId });
    const own = await owner.dispatch('STREAM_SERVER_UPDATE');
    expect(own).toEqual({ stream_key: key, token: expect.any(String), endpoint: expect.any(String) });
    const live = (d: Record<string, unknown>) => d.user_id === owner.userId && d.self_stream === true;
    expect(await viewer.dispatch('VOICE_STATE_UPDATE', live)).toMatchObject({ channel_id: channelId });
    viewer.send(OP.STREAM_WATCH, { stream_key: key });
    await viewer.dispatch('STREAM_SERVER_UPDATE', (d) => d.stream_key === key);
    owner.send(OP.VOICE_STATE_UPDATE, { guild_id: null, channel_id: null });
    expect(await viewer.dispatch('STREAM_DELETE')).toEqual({ stream_key: key, reason: 'stream_ended' });
  });

  test.each([18, 19, 20, 21, 22])('is closed to bots: op %i ends the session with 4001', async (op) => {
    const { gateway: url, bots } = server.info;
    const bot = await GatewayClient.ready(url, { token: bots[0]!.token });
    bot.send(op, { type: 'guild', ...place(), stream_key: 'guild:1:2:3', paused: false });
    expect((await bot.closed).code).toBe(4001);
  });
});
