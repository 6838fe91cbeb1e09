// Goal: the relay compares successful replies about guilds, channels, members and voice that no other end-to-end test asks for.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const STAGE = 13;
const WAVE = '%F0%9F%91%8B';

interface WithId {
  readonly id: string;
}

let server: TestServer;
let bot: Caller;
/** A bot that is a member of the guild without permissions of its own. */
let guest: Caller;
let guestId: string;
let guild: string;
let text: string;
beforeAll(async () => {
  server = await startServer();
  bot = callerOf(server, `Bot ${server.info.bot.token}`);
  const made = await server.newBot('Guest');
  guest = callerOf(server, `Bot ${made.token}`);
  guestId = made.id;
  guild = `/guilds/${server.info.guild.id}`;
  text = `/channels/${server.info.guild.text_channel_id}`;
});
afterAll(() => server?.finish());

describe('a guild', () => {
  test('shows its preview, its channels and the own membership', async () => {
    expect(await bot(`GET ${guild}/preview`)).toMatchObject({ id: server.info.guild.id });
    expect(await bot(`GET ${text}`)).toMatchObject({ guild_id: server.info.guild.id });
    const person = callerOf(server, `Bearer ${server.info.users[0]!.token}`);
    const { id } = server.info.users[0]!;
    expect(await person(`GET /users/@me${guild}/member`)).toMatchObject({ user: { id } });
    expect(await bot(`GET /users/${id}`)).toMatchObject({ id });
  });

  test('shows a role, reorders roles and counts their members', async () => {
    const role = await bot<WithId>(`POST ${guild}/roles`, { name: 'Crew' });
    expect(await bot(`GET ${guild}/roles/${role.id}`)).toMatchObject({ name: 'Crew' });
    expect(await bot(`PATCH ${guild}/roles`, [{ id: role.id, position: 1 }])).toContainEqual(
      expect.objectContaining({ id: role.id, position: 1 }),
    );
    await bot(`PUT ${guild}/members/${guestId}/roles/${role.id}`);
    expect(await bot(`GET ${guild}/roles/member-counts`)).toMatchObject({ [role.id]: 1 });
  });

  test('lists its bans, also of many users at once', async () => {
    const users = [await server.newBot('Rude'), await server.newBot('Ruder')].map(({ id }) => id);
    expect(await bot(`POST ${guild}/bulk-ban`, { user_ids: users })).toMatchObject({
      banned_users: expect.arrayContaining(users),
      failed_users: [],
    });
    const bans = await bot<{ user: WithId }[]>(`GET ${guild}/bans`);
    expect(bans.map(({ user }) => user.id).sort()).toEqual(users.toSorted());
  });

  test('lists the invites of a channel', async () => {
    const { code } = await bot<{ code: string }>(`POST ${text}/invites`, { max_age: 60, unique: true });
    expect(await bot(`GET ${text}/invites`)).toMatchObject([{ code }]);
  });

  test('lets a member change their nickname and profile, and leave', async () => {
    expect(await guest(`PATCH ${guild}/members/@me`, { nick: 'Passer-by' })).toMatchObject({
      nick: 'Passer-by',
    });
    expect(await guest('PATCH /users/@me', { username: 'Passer' })).toMatchObject({ username: 'Passer' });
    await guest(`DELETE /users/@me${guild}`);
    await expect(guest(`GET ${guild}`)).rejects.toThrow('10004');
  });
});

describe('a message', () => {
  test('loses a reaction of another user, and its pin by the older route', async () => {
    const { id } = await bot<WithId>(`POST ${text}/messages`, { content: 'hello' });
    const person = callerOf(server, `Bearer ${server.info.users[0]!.token}`);
    await person(`PUT ${text}/messages/${id}/reactions/${WAVE}/@me`);
    await bot(`DELETE ${text}/messages/${id}/reactions/${WAVE}/${server.info.users[0]!.id}`);
    await bot(`PUT ${text}/pins/${id}`);
    await bot(`DELETE ${text}/pins/${id}`);
    expect(await bot(`GET ${text}/pins`)).toEqual([]);
  });
});

describe('voice', () => {
  test('lists regions and default sounds', async () => {
    const regions = await bot('GET /voice/regions');
    expect(await bot(`GET ${guild}/regions`)).toEqual(regions);
    expect(await bot<WithId[]>('GET /soundboard-default-sounds')).not.toEqual([]);
  });

  test('shows a stage and the voice states in it, and changes them', async () => {
    const stage = await bot<WithId>(`POST ${guild}/channels`, { name: 'Stage', type: STAGE });
    const { token, id } = server.info.users[0]!;
    const person = callerOf(server, `Bearer ${token}`);
    const gateway = await GatewayClient.ready(server.info.gateway, { token });
    const place = { guild_id: server.info.guild.id, channel_id: stage.id };
    gateway.send(OP.VOICE_STATE_UPDATE, { ...place, self_mute: false, self_deaf: false });
    await gateway.dispatch('VOICE_STATE_UPDATE', (d) => d.user_id === id);

    await bot('POST /stage-instances', { channel_id: stage.id, topic: 'Opening' });
    expect(await bot(`GET /stage-instances/${stage.id}`)).toMatchObject({ topic: 'Opening' });
    const states = `${guild}/voice-states`;
    await person(`PATCH ${states}/@me`, { channel_id: stage.id, suppress: true });
    await bot(`PATCH ${states}/${id}`, { channel_id: stage.id, suppress: false });
    const state = { channel_id: stage.id, user_id: id, suppress: false };
    expect(await person(`GET ${states}/@me`)).toMatchObject(state);
    expect(await bot(`GET ${states}/${id}`)).toMatchObject(state);
    await bot(`DELETE /stage-instances/${stage.id}`);
    gateway.close();
  });
});
