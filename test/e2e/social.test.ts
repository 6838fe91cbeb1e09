// Goal: two players of a game become friends, talk, see each other and join each other; people and their blocks hold everywhere.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { dataUri, pngPixel } from '../support/media.ts';
import { startServer, type TestServer } from '../support/server.ts';

const LAYER = 'sdk.social_layer';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ bots: 2 });
});
afterAll(() => server.finish());

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** A caller of routes that the published interface does not list. */
const callerOf =
  (authorization: string) =>
  async <T = { code: number }>(method: string, path: string, body?: object): Promise<Answer<T>> => {
    const response = await fetch(`${server.info.api}/v10${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  };

interface User {
  readonly id: string;
  readonly username: string;
}

type Caller = Omit<Awaited<ReturnType<typeof member>>, keyof User>;

async function member(authorization: string) {
  const call = callerOf(authorization);
  const { body } = await call<User>('GET', '/users/@me');
  const gateway = async () => {
    const client = await GatewayClient.connect(server.info.gateway);
    client.identify({ token: authorization, intents: 0x1fff_ffff });
    await client.dispatch('READY');
    return client;
  };
  return { ...body, call, gateway, token: authorization.slice(authorization.indexOf(' ') + 1) };
}

/** A player authenticated by the bot of a game. */
async function player(name: string, game = 0) {
  const body = { external_user_id: name, preferred_global_name: name };
  const made = await server.bot(game).call<{ access_token: string }>('bot_partner_sdk_token', { body });
  return member(`Bearer ${made.access_token}`);
}

async function person(username: string) {
  const { token } = await server.admin<{ token: string }>('/users', { username });
  return member(`Bearer ${token}`);
}

/** A token of the application's owner, who is a person. */
async function ownerPlays(scope = LAYER) {
  const { id: client_id, client_secret } = server.info.application;
  const response = await fetch(`${server.info.api}/v10/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', scope, client_id, client_secret }),
  });
  return member(`Bearer ${((await response.json()) as { access_token: string }).access_token}`);
}

const statusOf = async (answer: Promise<Answer<unknown>>) => (await answer).status;
const codeOf = async (answer: Promise<Answer<{ code: number }>>) => (await answer).body.code;
const own = '/users/@me';

describe('players of one game', () => {
  test('become friends, write, and the messages stay in the game', async () => {
    const [ann, bob] = [await player('ann'), await player('bob')];
    const [annAt, bobAt] = [await ann.gateway(), await bob.gateway()];
    expect(await statusOf(ann.call('POST', `${own}/game-relationships`, { username: bob.username }))).toBe(
      204,
    );
    expect(await bobAt.dispatch('GAME_RELATIONSHIP_ADD')).toMatchObject({ id: ann.id, type: 3 });
    expect(await statusOf(bob.call('PUT', `${own}/game-relationships/${ann.id}`))).toBe(204);
    expect(await annAt.dispatch('GAME_RELATIONSHIP_ADD', (d) => d.type === 1)).toMatchObject({
      id: bob.id,
      user: { username: bob.username },
    });
    const { body: friends } = await ann.call<{ id: string }[]>('GET', `${own}/game-relationships`);
    expect(friends.map(({ id }) => id)).toEqual([bob.id]);

    const body = { content: 'gg', metadata: { round: '1' } };
    const sent = await ann.call<{ id: string }>('POST', `/users/${bob.id}/messages`, body);
    expect(sent).toMatchObject({ status: 200, body: { ...body, channel: { type: 18 } } });
    for (const [client, peer] of [
      [annAt, bob],
      [bobAt, ann],
    ] as const)
      expect(await client.dispatch('MESSAGE_CREATE')).toMatchObject({
        id: sent.body.id,
        channel_id: peer.id,
        channel_type: 18,
        content: 'gg',
      });
    expect((await bob.call<object[]>('GET', `/users/${ann.id}/messages`)).body).toEqual([]);
    annAt.close();
    bobAt.close();
  });

  test('players of different games are strangers', async () => {
    const [ann, bob] = [await player('ann'), await player('bob', 1)];
    const bobAt = await bob.gateway();
    const byName = ann.call('POST', `${own}/game-relationships`, { username: bob.username });
    expect(await codeOf(byName)).toBe(80004);
    expect(await codeOf(ann.call('POST', `/users/${bob.id}/messages`, { content: 'hi' }))).toBe(50278);
    bobAt.close();
  });

  test('see what friends do, and join them by invite', async () => {
    const [host, guest] = [await player('host'), await player('guest')];
    const [hostAt, guestAt] = [await host.gateway(), await guest.gateway()];
    await host.call('PUT', `${own}/game-relationships/${guest.id}`);
    await guest.call('PUT', `${own}/game-relationships/${host.id}`);
    await hostAt.dispatch('GAME_RELATIONSHIP_ADD', (d) => d.type === 1);
    const activity = {
      name: 'Chess',
      type: 0,
      details: 'In the lobby',
      party: { id: 'table', size: [1, 2] },
      secrets: { join: 'open sesame' },
    };
    hostAt.send(OP.PRESENCE_UPDATE, { since: null, status: 'online', afk: false, activities: [activity] });
    const shown = await guestAt.dispatch<{ activities: { session_id: string }[] }>(
      'PRESENCE_UPDATE',
      (d) => (d.activities as object[]).length > 0,
    );
    expect(shown).toMatchObject({
      user: { id: host.id },
      activities: [{ details: 'In the lobby', flags: 2 }],
    });
    expect(shown).not.toHaveProperty('guild_id');

    const session = hostAt.sessionId;
    const invite = { activity: { type: 1, session_id: session, party_id: 'table' } };
    const sent = await host.call<{ id: string }>('POST', `/users/${guest.id}/messages`, invite);
    expect(sent.status).toBe(200);
    const invited = await guestAt.dispatch<{ channel_id: string; application: { id: string } }>(
      'MESSAGE_CREATE',
    );
    const application = invited.application.id;
    const at = `/users/${host.id}/sessions/${session}/activities/${application}/1`;
    const asked = `${at}?channel_id=${invited.channel_id}&message_id=${sent.body.id}`;
    expect(await guest.call('GET', asked)).toEqual({ status: 200, body: { secret: 'open sesame' } });
    const thief = await player('thief');
    expect((await thief.call('GET', asked)).status).toBe(400);
    expect(JSON.stringify(guestAt.received)).not.toContain('open sesame');
    hostAt.close();
    await guestAt.dispatch('PRESENCE_UPDATE', (d) => d.status === 'offline');
    guestAt.close();
  });
});

describe('people', () => {
  test('are friends in all their clients, and in games with the scope', async () => {
    const [ann, bob] = [await person('ann.e2e'), await person('bob.e2e')];
    const [annAt, bobAt] = [await ann.gateway(), await bob.gateway()];
    await ann.call('POST', `${own}/relationships`, { username: 'BOB.E2E', discriminator: null });
    await bobAt.dispatch('RELATIONSHIP_ADD', (d) => d.type === 3);
    await bob.call('PUT', `${own}/relationships/${ann.id}`, {});
    expect(await annAt.dispatch('RELATIONSHIP_ADD', (d) => d.type === 1)).toMatchObject({ id: bob.id });
    const { body } = await ann.call<{ id: string }[]>('POST', `/users/${bob.id}/messages`, { content: 'hi' });
    expect(body).toMatchObject({ content: 'hi', channel: { type: 1 } });
    expect(await bobAt.dispatch('MESSAGE_CREATE')).toMatchObject({ content: 'hi', author: { id: ann.id } });
    expect((await bob.call<object[]>('GET', `/users/${ann.id}/messages?limit=200`)).body).toHaveLength(1);

    const again = await ann.gateway();
    const ready = again.received.find(({ t }) => t === 'READY')?.d;
    expect(ready).toMatchObject({
      relationships: [{ id: bob.id, type: 1 }],
      private_channels: [{ type: 1 }],
    });

    await bob.call('PUT', `${own}/relationships/${ann.id}`, { type: 2 });
    await annAt.dispatch('RELATIONSHIP_REMOVE', (d) => d.id === bob.id);
    expect(await codeOf(ann.call('POST', `/users/${bob.id}/messages`, { content: 'hi' }))).toBe(50007);
    const { body: channel } = await ann.call<{ id: string }>('GET', `${own}/dms/${bob.id}`);
    expect(await codeOf(ann.call('POST', `/channels/${channel.id}/messages`, { content: 'hi' }))).toBe(50007);
    expect(await codeOf(ann.call('PUT', `${own}/relationships/${bob.id}`))).toBe(10013);
    await bob.call('DELETE', `${own}/relationships/${ann.id}`);
    // The block has ended the friendship; who has been written to may answer, and is answered.
    const say = (by: typeof ann) => by.call('POST', `/channels/${channel.id}/messages`, { content: 'hi' });
    expect(await codeOf(say(ann))).toBe(50278);
    expect(await statusOf(say(bob))).toBe(200);
    expect(await statusOf(say(ann))).toBe(200);
    for (const client of [annAt, bobAt, again]) client.close();
  });

  test('show a game the channels that its lobby can be linked to', async () => {
    const plays = await ownerPlays();
    const { guild } = server.info;
    type Channel = { id: string; is_linkable: boolean; is_viewable_and_writeable_by_all_members: boolean };
    const path = `/guilds/${guild.id}/channels?with_can_link_lobby=true`;
    const { status, body } = await plays.call<Channel[]>('GET', path);
    expect(status).toBe(200);
    const of = (id: string) => body.find((channel) => channel.id === id);
    expect(of(guild.text_channel_id)).toMatchObject({ is_linkable: true });
    expect(of(guild.voice_channel_id)).toMatchObject({ is_linkable: false });
    expect(await codeOf((await ownerPlays('identify')).call('GET', path))).toBe(50026);
  });

  test('set the metadata about themselves that roles ask for', async () => {
    const plays = await ownerPlays('identify role_connections.write');
    const params = { application_id: server.info.application.id };
    const metadata = [{ type: 2, key: 'elo', name: 'Elo', description: 'How strong' }];
    await server.bot().call('update_application_role_connections_metadata', { params, body: metadata });
    expect(await server.bot().call('get_application_role_connections_metadata', { params })).toEqual(
      metadata,
    );
    const path = `${own}/applications/${params.application_id}/role-connection`;
    const said = { platform_name: 'Chess', metadata: { elo: '1500' } };
    expect(await plays.call('PUT', path, said)).toMatchObject({ status: 200, body: said });
    expect(await plays.call('GET', path)).toMatchObject({ body: said });
    expect(await statusOf(plays.call('DELETE', path))).toBe(204);
  });

  test('moderate nothing: that is the bot of the application, of messages that it carried', async () => {
    const [plays, bob] = [await ownerPlays(), await person('moderated.e2e')];
    await plays.call('PUT', `${own}/relationships/${bob.id}`, {});
    await bob.call('PUT', `${own}/relationships/${plays.id}`, {});
    const bobAt = await bob.gateway();
    const sent = await plays.call<{ id: string }>('POST', `/users/${bob.id}/messages`, { content: 'hm' });
    const params = { user_id_1: bob.id, user_id_2: plays.id, message_id: sent.body.id };
    const operationId = 'update_user_message_external_moderation_metadata';
    await server.bot().call(operationId, { params, body: { verdict: 'odd' } });
    expect(await bobAt.dispatch('MESSAGE_UPDATE')).toMatchObject({ moderation_metadata: { verdict: 'odd' } });
    expect((await server.bot(1).ask(operationId, { params, body: {} })).status).toBe(404);
    bobAt.close();
  });
});

describe('a group', () => {
  const PNG = dataUri(pngPixel());
  interface Group {
    readonly id: string;
    readonly icon: string | null;
    readonly recipients: readonly User[];
  }

  /** The first with the others as friends. */
  async function friendsOf(names: readonly string[]) {
    const [first, ...others] = await Promise.all(names.map((name) => person(`${name}.group`)));
    for (const other of others) {
      await first!.call('PUT', `${own}/relationships/${other.id}`, {});
      await other.call('PUT', `${own}/relationships/${first!.id}`, {});
    }
    return [first!, ...others];
  }

  test('talks, takes a name and an icon, loses and gains friends, and is there after a new sign-in', async () => {
    const [ann, bob, cleo] = (await friendsOf(['ann', 'bob', 'cleo'])) as [
      User & Caller,
      User & Caller,
      User & Caller,
    ];
    const stranger = await person('stranger.group');
    const bobAt = await bob.gateway();
    const open = (recipients: readonly { readonly id: string }[]) =>
      ann.call<Group>('POST', `${own}/channels`, { recipients: recipients.map(({ id }) => id) });
    expect((await open([bob, stranger])).body).toMatchObject({ code: 50033 });
    const { status, body: group } = await open([bob, cleo]);
    expect({ status, group }).toMatchObject({
      status: 200,
      group: { type: 3, owner_id: ann.id, managed: false, recipients: [{ id: bob.id }, { id: cleo.id }] },
    });
    const at = `/channels/${group.id}`;
    expect(await bobAt.dispatch('CHANNEL_CREATE', ({ id }) => id === group.id)).toMatchObject({
      recipients: [{ id: ann.id }, { id: cleo.id }],
    });
    await cleo.call('POST', `${at}/messages`, { content: 'tea?' });
    expect(await bobAt.dispatch('MESSAGE_CREATE', (d) => d.content === 'tea?')).toMatchObject({
      channel_type: 3,
    });
    expect(await codeOf(stranger.call('POST', `${at}/messages`, { content: 'hi' }))).toBe(10003);

    const drawn = await bob.call<Group>('PATCH', at, { name: 'Tea', icon: PNG });
    expect(drawn).toMatchObject({
      status: 200,
      body: { name: 'Tea', icon: expect.stringMatching(/^[0-9a-f]{32}$/) },
    });
    const image = await fetch(
      `${new URL(server.info.api).origin}/channel-icons/${group.id}/${drawn.body.icon}.png`,
    );
    expect(image.status).toBe(200);
    expect(await codeOf(stranger.call('PATCH', at, { icon: PNG }))).toBe(10003);

    expect((await cleo.call('DELETE', at)).status).toBe(200);
    await bobAt.dispatch('CHANNEL_RECIPIENT_REMOVE', (d) => (d.user as User).id === cleo.id);
    expect(await codeOf(bob.call('PUT', `${at}/recipients/${cleo.id}`, {}))).toBe(50033);
    expect((await ann.call('PUT', `${at}/recipients/${cleo.id}`, { nick: 'C' })).status).toBe(204);
    await bobAt.dispatch('CHANNEL_RECIPIENT_ADD', (d) => (d.user as User).id === cleo.id && d.nick === 'C');
    expect(await codeOf(bob.call('DELETE', `${at}/recipients/${ann.id}`))).toBe(50013);

    const again = await cleo.gateway();
    const ready = again.received.find(({ t }) => t === 'READY')?.d as { private_channels: object[] };
    expect(ready.private_channels).toMatchObject([{ id: group.id, type: 3, name: 'Tea' }]);

    const { body: pair } = await open([bob]);
    const wider = await ann.call<Group>('PUT', `/channels/${pair.id}/recipients/${cleo.id}`, {});
    expect(wider).toMatchObject({
      status: 201,
      body: { type: 3, recipients: [{ id: bob.id }, { id: cleo.id }] },
    });
    for (const client of [bobAt, again]) client.close();
  });

  test('opened by a bot holds only people who granted gdm.join, at most ten groups an application', async () => {
    const owner = await ownerPlays('gdm.join identify');
    const without = await ownerPlays('identify');
    const bot = callerOf(`Bot ${server.info.bots[0]!.token}`);
    const open = (access_tokens: readonly string[], nicks = {}) =>
      bot<Group & { code: number }>('POST', `${own}/channels`, { access_tokens, nicks });
    expect((await open(['not-a-token'])).body.code).toBe(50025);
    expect((await open([without.token])).body.code).toBe(50026);
    const { body: group } = await open([owner.token], { [owner.id]: 'Boss' });
    expect(group).toMatchObject({
      ...{ type: 3, managed: true, application_id: server.info.application.id },
      ...{ recipients: [{ id: owner.id }], nicks: [{ id: owner.id, nick: 'Boss' }] },
    });
    const place = `/channels/${group.id}/recipients/${owner.id}`;
    expect((await bot('DELETE', place)).status).toBe(204);
    expect(await codeOf(bot('PUT', place, {}))).toBe(50025);
    expect((await bot('PUT', place, { access_token: owner.token })).status).toBe(204);
    expect((await bot('POST', `/channels/${group.id}/messages`, { content: 'hello' })).status).toBe(200);
    const other = callerOf(`Bot ${server.info.bots[1]!.token}`);
    expect(await codeOf(other('PUT', place, { access_token: owner.token }))).toBe(10003);
    for (let count = 1; count < 10; count += 1) expect((await open([owner.token])).status).toBe(200);
    expect((await open([owner.token])).body.code).toBe(30011);
  });
});
