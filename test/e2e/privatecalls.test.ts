// Goal: two people call each other in a private channel, without any guild: they are rung, they talk, end-to-end encrypted,
// and the call is over when both have left.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { VoiceClient } from '../support/voice-client.ts';
import { VoiceDave } from '../support/voice-dave.ts';
import { VoiceUdp } from '../support/voice-rtp.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await server?.finish();
});

async function online(index: number): Promise<GatewayClient> {
  const { gateway, users } = server.info;
  const client = await GatewayClient.ready(gateway, { token: users[index]!.token });
  closers.push(() => client.close());
  return client;
}

const seat = (channelId: string | null) => ({
  guild_id: null,
  channel_id: channelId,
  self_mute: false,
  self_deaf: false,
});

async function takeCall(gateway: GatewayClient, channelId: string) {
  const { userId } = gateway;
  gateway.send(4, seat(channelId));
  const [state, { endpoint, token, ...place }] = await Promise.all([
    gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.user_id === userId && d.channel_id === channelId),
    gateway.dispatch<{ endpoint: string; token: string; channel_id: string }>('VOICE_SERVER_UPDATE'),
  ]);
  expect(place).toEqual({ channel_id: channelId });
  const ticket = { endpoint, token, serverId: channelId, channelId, userId };
  const { client, ready } = await VoiceClient.ready(
    { ...ticket, sessionId: String(state.session_id) },
    { caFile: server.info.ca_file },
    { max_dave_protocol_version: 1 },
  );
  const dave = new VoiceDave(client, userId, channelId);
  const udp = await VoiceUdp.open(ready);
  closers.push(
    () => udp.close(),
    () => client.close(),
  );
  const { mode, secret_key: key } = await client.selectUdp(await udp.discover());
  udp.use(mode, Uint8Array.from(key));
  client.speak(ready.ssrc);
  return { gateway, client, ready, dave, udp, userId };
}

/** A route that the published interface does not list. */
async function ask(index: number, method: string, path: string, body?: object): Promise<number> {
  const { api, users } = server.info;
  const headers = { authorization: `Bearer ${users[index]!.token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${api}/v10${path}`, {
    ...{ method, headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

test('a private call rings the other person, carries both voices, and ends when the last one leaves', async () => {
  const { users } = server.info;
  const { id: channelId } = await server
    .user(0)
    .call<{ id: string }>('create_dm', { body: { recipient_id: users[1]!.id } });
  // Only friends are rung.
  for (const [from, to] of [
    [0, 1],
    [1, 0],
  ] as const)
    expect(await ask(from, 'PUT', `/users/@me/relationships/${users[to]!.id}`, {})).toBe(204);
  const [annOnline, benOnline] = [await online(0), await online(1)];
  const ann = await takeCall(annOnline, channelId);
  for (const gateway of [annOnline, benOnline])
    expect(await gateway.dispatch('CALL_CREATE')).toMatchObject({
      ...{ channel_id: channelId, ringing: [users[1]!.id] },
    });
  const ben = await takeCall(benOnline, channelId);
  await expect
    .poll(() => ann.dave.ready && ben.dave.ready && ann.dave.privacyCode === ben.dave.privacyCode, {
      timeout: 15_000,
    })
    .toBe(true);

  for (const [from, to] of [
    [ann, ben],
    [ben, ann],
  ] as const) {
    // A first packet gives the server the listener's address.
    to.udp.sendOpus(Uint8Array.of(0xf8, 0xff, 0xfe));
    const spoken = randomBytes(90);
    const heard = () =>
      to.udp.rtp.filter(({ ssrc, payload }) => ssrc === from.ready.ssrc && payload.length > 3);
    await expect
      .poll(() => {
        from.udp.sendOpus(from.dave.encrypt(spoken));
        return heard().length;
      })
      .toBeGreaterThan(0);
    expect(to.dave.decrypt(from.userId, heard()[0]!.payload)).toEqual(spoken);
  }

  annOnline.send(4, seat(null));
  expect((await ann.client.closed).code).toBe(4014);
  expect((await ben.client.waitFor(13)).d).toEqual({ user_id: ann.userId });
  benOnline.send(4, seat(null));
  for (const gateway of [annOnline, benOnline])
    expect(await gateway.dispatch('CALL_DELETE')).toMatchObject({ channel_id: channelId });
});

test('a block ends the call of the two, and neither calls, rings or writes to the other from then on', async () => {
  const { users } = server.info;
  const { id: channelId } = await server
    .user(0)
    .call<{ id: string }>('create_dm', { body: { recipient_id: users[1]!.id } });
  const [ann, ben] = [await takeCall(await online(0), channelId), await takeCall(await online(1), channelId)];
  const blocked = `/users/@me/relationships/${users[0]!.id}`;
  expect(await ask(1, 'PUT', blocked, { type: 2 })).toBe(204);
  for (const { client, gateway } of [ann, ben]) {
    expect((await client.closed).code).toBe(4014);
    expect(await gateway.dispatch('CALL_DELETE')).toMatchObject({ channel_id: channelId });
  }
  for (const index of [0, 1]) {
    expect(await ask(index, 'POST', `/channels/${channelId}/messages`, { content: 'hello?' })).toBe(403);
    expect(await ask(index, 'POST', `/channels/${channelId}/call/ring`, {})).toBe(403);
    expect(await ask(index, 'POST', `/channels/${channelId}/typing`)).toBe(403);
  }
  expect(await ask(1, 'DELETE', blocked)).toBe(204);
});

test('people choose which users may send them a first direct message', async () => {
  const settings = '/guildhall/v1/users/@me/settings';
  const { api, users } = server.info;
  const read = async () =>
    (
      await fetch(`${api}/v10${settings}`, { headers: { authorization: `Bearer ${users[1]!.token}` } })
    ).json();
  expect(await read()).toEqual({ direct_messages_from: null });
  expect(await ask(1, 'PATCH', settings, { direct_messages_from: 'nobody' })).toBe(400);
  expect(await ask(1, 'PATCH', settings, { direct_messages_from: 'friends' })).toBe(200);
  expect(await read()).toEqual({ direct_messages_from: 'friends' });
  expect(await ask(1, 'PATCH', settings, {})).toBe(200);
  expect(await read()).toEqual({ direct_messages_from: 'friends' });
  const { id } = await server
    .bot()
    .call<{ id: string }>('create_dm', { body: { recipients: [users[1]!.id] } });
  const send = server
    .bot()
    .call('create_message', { params: { channel_id: id }, body: { content: 'Hello' } });
  await expect(send).rejects.toThrow('50007');
  expect(await ask(1, 'PATCH', settings, { direct_messages_from: null })).toBe(200);
  await server.bot().call('create_message', { params: { channel_id: id }, body: { content: 'Hello' } });
});
