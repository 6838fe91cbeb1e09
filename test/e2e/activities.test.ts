// Goal: an activity runs in a channel while somebody takes part, however it was launched, and survives the death of the server.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTENTS } from '../../protocol/intents.ts';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { heard, InteractionBot } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { ask } from '../support/players.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Activity {
  readonly application_id: string;
  readonly composite_instance_id: string;
  readonly launch_id: string;
  readonly location: { readonly id: string };
  readonly participants: readonly { readonly user_id: string }[];
}

const CAN_START = 1n << 39n;

let folder: string;
let server: TestServer;
let applicationId: string;
let channel: string;
let owner: Caller;
let guest: Caller;
let watcher: GatewayClient;

const running = () => `/channels/${channel}/activities`;
const path = () => `${running()}/${applicationId}`;
const enter = (by: Caller, connectionId: string, where = path()) =>
  by<{ activity: Activity; heartbeat_interval: number }>(`PUT ${where}`, { connection_id: connectionId });
const users = ({ participants }: Activity) => participants.map(({ user_id: id }) => id);
const nextUpdate = (wanted: number) =>
  watcher.dispatch<Activity & { guild_id: string }>(
    'EMBEDDED_ACTIVITY_UPDATE_V2',
    ({ participants }) => Array.isArray(participants) && participants.length === wanted,
  );

async function begin(): Promise<void> {
  server = await startServer({ dataDir: folder });
  applicationId = server.info.application.id;
  channel = server.info.guild.voice_channel_id;
  owner = callerOf(server, `Bearer ${server.info.users[0]!.token}`);
  guest = callerOf(server, `Bearer ${server.info.users[1]!.token}`);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-activities-'));
  await begin();
  await server.admin(`/applications/${applicationId}/activity`, {
    url_mappings: [{ prefix: '/', target: '127.0.0.1:9' }],
  });
  watcher = await GatewayClient.ready(server.info.gateway, {
    token: server.info.bot.token,
    intents: INTENTS.GUILDS | INTENTS.GUILD_EMBEDDED_ACTIVITIES,
  });
});
afterAll(async () => {
  watcher?.close();
  await server?.finish();
  await rm(folder, { recursive: true, force: true });
});

describe('a running activity', () => {
  test('starts with its first participant and is shared by everyone in the channel', async () => {
    const [first] = await Promise.all([enter(owner, 'one'), nextUpdate(1)]);
    const [second, update] = await Promise.all([enter(guest, 'one'), nextUpdate(2)]);
    expect(second.activity.composite_instance_id).toBe(first.activity.composite_instance_id);
    expect(update).toMatchObject({ ...second.activity, guild_id: server.info.guild.id });
    expect(users(second.activity)).toEqual(server.info.users.slice(0, 2).map(({ id }) => id));
    expect(second.activity.location.id).toBe(`gc-${server.info.guild.id}-${channel}`);
    expect(await owner(`GET ${running()}`)).toEqual({ activities: [second.activity] });
  });

  test('is read by its own bot, and is unknown to other bots and under wrong ids', async () => {
    const bot = callerOf(server, `Bot ${server.info.bot.token}`);
    const { activity } = await enter(owner, 'one');
    const instances = `/applications/${applicationId}/activity-instances`;
    expect(await bot(`GET ${instances}/${activity.composite_instance_id}`)).toMatchObject({
      ...{ application_id: applicationId, instance_id: activity.composite_instance_id },
      ...{ launch_id: activity.launch_id, users: users(activity) },
      location: { kind: 'gc', channel_id: channel, guild_id: server.info.guild.id },
    });
    const authorization = `Bot ${server.info.bot.token}`;
    for (const wrong of ['x', `${activity.composite_instance_id}0`])
      expect(await ask(server, authorization, ['GET', `${instances}/${wrong}`])).toMatchObject({
        status: 404,
      });
  });

  test('survives the death of the server, with its participants and its id', async () => {
    const before = await owner<{ activities: Activity[] }>(`GET ${running()}`);
    watcher.close();
    await server.kill9();
    await begin();
    watcher = await GatewayClient.ready(server.info.gateway, {
      token: server.info.bot.token,
      intents: INTENTS.GUILDS | INTENTS.GUILD_EMBEDDED_ACTIVITIES,
    });
    expect(await owner(`GET ${running()}`)).toEqual(before);
  });

  test('ends with its last participant', async () => {
    const [update] = await Promise.all([nextUpdate(1), owner(`DELETE ${path()}?connection_id=one`)]);
    expect(users(update)).toEqual([server.info.users[1]!.id]);
    await Promise.all([nextUpdate(0), guest(`DELETE ${path()}`)]);
    expect(await owner(`GET ${running()}`)).toEqual({ activities: [] });
    const { activity } = await enter(owner, 'two');
    expect(activity.launch_id).not.toBe(update.launch_id);
    await owner(`DELETE ${path()}`);
  });

  test('is rejected for members without the permission, and for applications without an activity', async () => {
    const bot = callerOf(server, `Bot ${server.info.bot.token}`);
    const overwrite = `/channels/${channel}/permissions/${server.info.users[1]!.id}`;
    await enter(guest, 'one');
    await bot(`PUT ${overwrite}`, { type: 1, allow: '0', deny: String(CAN_START) });
    const token = `Bearer ${server.info.users[1]!.token}`;
    expect(await ask(server, token, ['PUT', path(), { connection_id: 'one' }])).toMatchObject({
      ...{ status: 403, body: { code: 50_013 } },
    });
    // The refused renewal has ended the participation.
    expect(await owner(`GET ${running()}`)).toEqual({ activities: [] });
    await bot(`DELETE ${overwrite}`);
    const other = `${running()}/${server.info.guild.id}`;
    expect(await ask(server, token, ['PUT', other, { connection_id: 'one' }])).toMatchObject({
      ...{ status: 404, body: { code: 10_002 } },
    });
  });
});

describe('an interaction', () => {
  test('is answered by a discord.js bot with a launch', async () => {
    const bot = await InteractionBot.of(server);
    const person = await Person.of(server);
    channel = server.info.guild.text_channel_id;
    const launched = heard<string>((resolve) =>
      bot.answers(async (interaction) => {
        const { resource } = await interaction.launchActivity({ withResponse: true });
        resolve(resource?.activityInstance?.id ?? '');
      }),
    );
    const { nonce } = await person.slash(bot.command('ping'));
    const instanceId = await launched;
    const { activities } = await owner<{ activities: Activity[] }>(`GET ${running()}`);
    expect(activities.map((one) => one.composite_instance_id)).toEqual([instanceId]);
    expect(users(activities[0]!)).toEqual([person.userId]);
    const told = await person.gateway.dispatch('INTERACTION_SUCCESS', (d) => d.nonce === nonce);
    expect(told).toMatchObject({ activity_instance_id: instanceId });
    await owner(`DELETE ${path()}`);
    expect(bot.problems).toEqual([]);
    person.close();
    await bot.close();
  });

  test('uses the entry point that comes with an activity, without the application', async () => {
    // Registering its commands, the bot has replaced the one that came first.
    await server.admin(`/applications/${applicationId}/activity`, {
      url_mappings: [{ prefix: '/', target: '127.0.0.1:9' }],
    });
    const bot = callerOf(server, `Bot ${server.info.bot.token}`);
    type Command = { id: string; version: string; name: string; type: number; handler?: number };
    const commands = await bot<Command[]>(`GET /applications/${applicationId}/commands`);
    const entry = commands.find(({ type }) => type === 4)!;
    expect(entry).toMatchObject({ name: 'launch', handler: 2 });
    const person = await Person.of(server);
    await person.slash(entry);
    await expect
      .poll(async () => (await owner<{ activities: Activity[] }>(`GET ${running()}`)).activities.map(users))
      .toEqual([[person.userId]]);
    await expect
      .poll(async () => (await bot<{ content: string }[]>(`GET /channels/${channel}/messages?limit=1`))[0])
      .toMatchObject({ content: expect.stringContaining(`<@${person.userId}> started`) });
    await owner(`DELETE ${path()}`);
    person.close();
  });

  test('cannot launch an activity that the application does not have', async () => {
    await server.admin(`/applications/${applicationId}/activity`, { url_mappings: [] });
    const bot = await InteractionBot.of(server);
    const person = await Person.of(server);
    const refusal = heard<number>((resolve) =>
      bot.answers(async (interaction) => {
        await interaction.launchActivity().catch((error: { code: number }) => resolve(error.code));
        await interaction.reply('No activity.');
      }),
    );
    await person.slash(bot.command('ping'));
    expect(await refusal).toBe(50_035);
    person.close();
    await bot.close();
  });
});

test('an activity in a private channel is shown to both of its members', async () => {
  await server.admin(`/applications/${applicationId}/activity`, {
    url_mappings: [{ prefix: '/', target: '127.0.0.1:9' }],
  });
  const [, guestUser] = server.info.users;
  const { id } = await owner<{ id: string }>('POST /users/@me/channels', { recipient_id: guestUser!.id });
  const session = await GatewayClient.ready(server.info.gateway, {
    token: guestUser!.token,
    intents: INTENTS.DIRECT_EMBEDDED_ACTIVITIES,
  });
  const shown = session.dispatch<Activity>('EMBEDDED_ACTIVITY_UPDATE_V2', () => true);
  const where = `/channels/${id}/activities/${applicationId}`;
  const { activity } = await enter(owner, 'one', where);
  expect(await shown).toMatchObject({ location: { id: `pc-${id}` }, participants: activity.participants });
  await owner(`DELETE ${where}`);
  session.close();
});
