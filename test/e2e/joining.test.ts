// Goal: people make guilds, invite each other over the wire, and a temporary member leaves with the last session.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ set: { guilds_owned_max: 2, resume_window_ms: 1_000 } });
});
afterAll(() => server.finish());

interface Guild {
  readonly id: string;
  readonly owner_id: string;
  readonly name: string;
  readonly system_channel_id: string;
  readonly verification_level: number;
}

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

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

async function person(username: string) {
  const { token } = await server.admin<{ token: string }>('/users', { username });
  return personOf(token);
}

async function personOf(token: string) {
  const call = callerOf(token);
  const { body } = await call<{ id: string }>('GET', '/users/@me');
  const open = async () => {
    const client = await GatewayClient.connect(server.info.gateway);
    client.identify({ token, intents: 0x1fff_ffff });
    await client.dispatch('READY');
    return client;
  };
  return { id: body.id, token, call, open };
}

type Person = Awaited<ReturnType<typeof person>>;

async function guildOf(owner: Person, name: string, fields: object = {}): Promise<Guild> {
  const { status, body } = await owner.call<Guild>('POST', '/guilds', { name, ...fields });
  expect(status).toBe(201);
  return body;
}

async function inviteTo({ system_channel_id: channelId }: Guild, owner: Person, fields: object = {}) {
  const { body } = await owner.call<{ code: string }>('POST', `/channels/${channelId}/invites`, {
    unique: true,
    ...fields,
  });
  return body.code;
}

const memberIds = async (guild: Guild, owner: Person) => {
  const { body } = await owner.call<{ user: { id: string } }[]>(
    'GET',
    `/guilds/${guild.id}/members?limit=50`,
  );
  return body.map(({ user }) => user.id);
};

describe('a guild', () => {
  test('is made by a person, who owns it and receives it at once, up to the bound', async () => {
    const ada = await person('ada');
    const session = await ada.open();
    const guild = await guildOf(ada, 'First', { verification_level: 1 });
    expect(guild).toMatchObject({ name: 'First', owner_id: ada.id, verification_level: 1 });
    expect(await session.dispatch('GUILD_CREATE', (d) => d.id === guild.id)).toMatchObject({ name: 'First' });
    const both = await Promise.all(
      ['Second', 'Third', 'Fourth'].map((name) => ada.call('POST', '/guilds', { name })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400, 400]);
    expect(both.find(({ status }) => status === 400)?.body).toEqual({
      code: 30001,
      message: 'Maximum number of owned guilds reached (2)',
    });
    await session.close();
  });

  test('is deleted by its owner only, and makes room for another', async () => {
    const [bea, cal] = [await person('bea'), await person('cal')];
    const guild = await guildOf(bea, 'Short-lived');
    await guildOf(bea, 'Second');
    await cal.call('POST', `/invites/${await inviteTo(guild, bea)}`, {});
    const session = await cal.open();
    expect(await cal.call('DELETE', `/guilds/${guild.id}`)).toMatchObject({
      status: 403,
      body: { code: 50013 },
    });
    expect(await bea.call('DELETE', `/guilds/${guild.id}`)).toMatchObject({ status: 204 });
    await session.dispatch('GUILD_DELETE', (d) => d.id === guild.id);
    expect(await cal.call('GET', `/guilds/${guild.id}`)).toMatchObject({
      status: 404,
      body: { code: 10004 },
    });
    await guildOf(bea, 'Third');
    await session.close();
  });

  test('is not made by an application, since 2025-07-15', async () => {
    const made = await callerOf(`Bot ${server.info.bot.token}`)('POST', '/guilds', { name: 'Mine' });
    expect(made).toMatchObject({ status: 403, body: { code: 20001 } });
  });

  test.each([
    [{}, 'name'],
    [{ name: 'x' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'bell\u0007' }, 'name'],
    [{ name: 'aa\u202ebb' }, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: 'Fine', icon: 'data:text/plain,x' }, 'icon'],
    [{ name: 'Fine', verification_level: 9 }, 'verification_level'],
  ])('is refused with the field that is wrong: %j', async (fields, field) => {
    const { token } = server.info.users[0] as { token: string };
    const { status, body } = await callerOf(token)<{ code: number; errors: object }>(
      'POST',
      '/guilds',
      fields,
    );
    expect([status, body.code, Object.keys(body.errors)]).toEqual([400, 50035, [field]]);
  });
});

describe('an invite', () => {
  test('admits as many people as its max_uses, and dispatches GUILD_MEMBER_ADD', async () => {
    const [dan, eve, fay] = [await person('dan'), await person('eve'), await person('fay')];
    const guild = await guildOf(dan, 'Open house');
    const [danAt, eveAt] = [await dan.open(), await eve.open()];
    const code = await inviteTo(guild, dan, { max_uses: 1 });
    const [first, second] = await Promise.all(
      [eve, fay].map((each) =>
        each.call<{ code: string; guild_id: string; new_member: boolean }>('POST', `/invites/${code}`),
      ),
    );
    const statuses = [first?.status, second?.status].sort();
    expect(statuses).toEqual([200, 404]);
    const again = await inviteTo(guild, dan);
    expect((await eve.call('POST', `/invites/${again}`)).status).toBe(200);
    expect(await eve.call('POST', `/invites/${again}`, { session_id: eveAt.sessionId })).toMatchObject({
      status: 200,
      body: { code: again, guild_id: guild.id, new_member: false },
    });
    await eveAt.dispatch('GUILD_CREATE', (d) => d.id === guild.id);
    await danAt.dispatch('GUILD_MEMBER_ADD', (d) => (d.user as { id: string }).id === eve.id);
    await Promise.all([danAt.close(), eveAt.close()]);
  });

  test('gives its roles, and rejects a banned person, a bot and a caller without a token', async () => {
    const [gus, hal, ivy] = [await person('gus'), await person('hal'), await person('ivy')];
    const guild = await guildOf(gus, 'Guarded');
    const { body: role } = await gus.call<{ id: string }>('POST', `/guilds/${guild.id}/roles`, {
      name: 'guest',
    });
    const code = await inviteTo(guild, gus, { role_ids: [role.id] });
    expect((await hal.call('POST', `/invites/${code}`)).status).toBe(200);
    const { body: member } = await gus.call<{ roles: string[] }>(
      'GET',
      `/guilds/${guild.id}/members/${hal.id}`,
    );
    expect(member.roles).toEqual([role.id]);
    await gus.call('PUT', `/guilds/${guild.id}/bans/${ivy.id}`, {});
    expect(await ivy.call('POST', `/invites/${code}`)).toMatchObject({ status: 403, body: { code: 40007 } });
    const bot = callerOf(`Bot ${server.info.bot.token}`);
    expect(await bot('POST', `/invites/${code}`)).toMatchObject({ status: 403, body: { code: 20001 } });
    expect((await callerOf('')('POST', `/invites/${code}`)).status).toBe(401);
    expect(await hal.call('POST', '/invites/unheard')).toMatchObject({ status: 404, body: { code: 10006 } });
  });

  test('ends a temporary membership with the last session, unless a role was given', async () => {
    const [jan, kim, lee] = [await person('jan'), await person('kim'), await person('lee')];
    const guild = await guildOf(jan, 'Visitors');
    const janAt = await jan.open();
    const code = await inviteTo(guild, jan, { temporary: true });
    const sessions = [await kim.open(), await kim.open(), await lee.open()] as const;
    for (const each of [kim, lee]) await each.call('POST', `/invites/${code}`);
    const { body: role } = await jan.call<{ id: string }>('POST', `/guilds/${guild.id}/roles`, {
      name: 'stays',
    });
    await jan.call('PUT', `/guilds/${guild.id}/members/${lee.id}/roles/${role.id}`);
    await Promise.all([sessions[0].close(1000), sessions[2].close(1000)]);
    await janAt.dispatch(
      'PRESENCE_UPDATE',
      (d) => (d.user as { id: string }).id === lee.id && d.status === 'offline',
    );
    expect(await memberIds(guild, jan)).toContain(kim.id);
    await sessions[1].close(1000);
    await janAt.dispatch('GUILD_MEMBER_REMOVE', (d) => (d.user as { id: string }).id === kim.id);
    expect((await memberIds(guild, jan)).sort()).toEqual([jan.id, lee.id].sort());
    await janAt.close();
  });
});

describe('a server restart', () => {
  test('ends no temporary membership of those who were connected', async () => {
    const first = server;
    const dataDir = await mkdtemp(join(tmpdir(), 'guildhall-joining-'));
    try {
      server = await startServer({ dataDir });
      const [mia, noa] = [await person('mia'), await person('noa')];
      const guild = await guildOf(mia, 'Lasting');
      await noa.call('POST', `/invites/${await inviteTo(guild, mia, { temporary: true })}`);
      await noa.open();
      await server.stop();
      server = await startServer({ dataDir });
      expect(await memberIds(guild, await personOf(mia.token))).toContain(noa.id);
      const session = await (await personOf(noa.token)).open();
      await session.close(1000);
      await expect.poll(async () => memberIds(guild, await personOf(mia.token))).not.toContain(noa.id);
      await server.finish();
    } finally {
      server = first;
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
