// Goal: a person's client keeps the guilds and private channels of the user, and games keep none.
import { describe, expect, test } from 'vitest';
import { INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { AuthorizationTokenType } from '../../sdk/enums.ts';
import type { OpenSocket } from '../../sdk/voice/wire.ts';
import { ACCESS_TOKEN, readyClient, ScriptedServer, scriptedClient, settle } from '../support/sdk.ts';

const GUILD = {
  ...{ id: '1', name: 'Hall', member_count: 1 },
  channels: [{ id: '11', type: 0, name: 'general', position: 0 }],
  members: [{ user: { id: '7', username: 'ada' } }],
};

describe('a client of a person', () => {
  test('keeps guilds and private channels, and reports each change once', async () => {
    const { client, server } = await readyClient({}, { usesApplications: true });
    let changes = 0;
    client.setGuildsUpdatedCallback(() => changes++);
    server.dispatch('GUILD_CREATE', GUILD);
    server.dispatch('GUILD_DELETE', { id: '2' });
    server.dispatch('TYPING_START', { guild_id: '1', channel_id: '11', user_id: '7' });
    server.dispatch('CHANNEL_CREATE', { id: '21', type: 1, recipients: [{ id: '8', username: 'bo' }] });
    await settle();
    expect(changes).toBe(2);
    expect(client.getGuilds().get('1')?.channels.get('11')?.name).toBe('general');
    expect(client.getPrivateChannels().get('21')?.people.get('8')?.name).toBe('bo');
  });

  test('requests members, and stores their presences', async () => {
    const { client, server } = await readyClient({}, { usesApplications: true });
    server.dispatch('GUILD_CREATE', GUILD);
    client.requestGuildMembers('1', 'a');
    const d = { guild_id: '1', query: 'a', limit: 100, presences: true };
    expect(server.sockets.at(-1)?.sent.at(-1)).toEqual({ op: OP.REQUEST_GUILD_MEMBERS, d });
    const presences = [{ user: { id: '7' }, status: 'idle', activities: [] }];
    server.dispatch('GUILD_MEMBERS_CHUNK', { guild_id: '1', members: GUILD.members, presences });
    await settle();
    expect(client.getGuilds().get('1')?.members.get('7')?.status).toBe('idle');
    expect(() => client.requestGuildMembers('no id')).toThrow('guildId must be an id');
  });

  test('passes every dispatch on, and sends the configured intents', async () => {
    const { client, server } = await readyClient(
      {},
      { usesApplications: true, intents: INTENTS.GUILD_MEMBERS },
    );
    const names: string[] = [];
    const stop = client.addDispatchCallback((name) => names.push(name));
    server.dispatch('TYPING_START', {});
    stop();
    server.dispatch('TYPING_START', {});
    expect(names).toEqual(['TYPING_START']);
    const identify = server.sockets[0]!.sent.find(({ op }) => op === OP.IDENTIFY)!.d as { intents: number };
    const wanted = INTENTS.GUILDS | INTENTS.GUILD_MESSAGES | INTENTS.GUILD_MEMBERS;
    expect(identify.intents & wanted).toBe(wanted);
    expect(client.getSessionId()).toBe('session-1');
  });

  test('opens its sockets with the configured function', async () => {
    const server = new ScriptedServer();
    const urls: string[] = [];
    const openSocket: OpenSocket = (url, events) => {
      urls.push(url);
      return server.host().openSocket(url, events);
    };
    const { client } = scriptedClient({ openSocket }, server);
    await client.updateToken(AuthorizationTokenType.User, ACCESS_TOKEN);
    const connecting = client.connect();
    await settle();
    server.welcome();
    await connecting;
    expect(urls).toEqual([expect.stringMatching(/^ws:\/\/server\.test/)]);
  });
});

test('a game keeps no guilds', async () => {
  const { client, server } = await readyClient();
  server.dispatch('GUILD_CREATE', GUILD);
  await settle();
  expect([client.getGuilds().size, client.getPrivateChannels().size]).toEqual([0, 0]);
});
