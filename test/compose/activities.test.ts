// Goal: running activities follow the permissions of their channel, and the proxy of a public server reaches no address of its own machine.
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Config } from '../../config/config.ts';
import type { Engine } from '../../embedding.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { freePort } from '../support/freeport.ts';

interface Person {
  readonly id: UserId;
  readonly token: string;
}
interface Answer {
  readonly status: number;
  readonly body: {
    readonly code?: number;
    readonly origin?: string;
    readonly activity?: { readonly composite_instance_id: string };
    readonly activities?: readonly { readonly participants: readonly { readonly user_id: string }[] }[];
  };
}

const CONFIG: Partial<Config> = {
  voice: false,
  log_level: 'silent',
  rate_limits: false,
  activities_url: 'http://localhost',
};

let target: Server;
const opened: Engine[] = [];
beforeAll(async () => {
  target = createServer((_, answer) => answer.end('reached'));
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
}, 60_000);
afterAll(async () => {
  for (const engine of opened) await engine.close();
  target.close();
});

/** A server with a guild of two members, and an application whose activity is on this machine. */
async function open(more: object = {}) {
  // The addresses that a public server names are those behind its proxy.
  const port = await freePort();
  const engine = await createEngine({ config: { ...CONFIG, ...more, listen_port: port } });
  opened.push(engine);
  await engine.listen();
  const api = `http://127.0.0.1:${port}/api/v10`;
  const [owner, guest] = await Promise.all(
    ['ada', 'grace'].map(async (username): Promise<Person> => {
      const { user, token } = await engine.admin.createUser({ username });
      return { id: user.id as UserId, token };
    }),
  );
  const guildId = (await engine.admin.createGuild({ name: 'Hall', ownerId: owner!.id })).id as GuildId;
  await engine.admin.addMember({ guildId, userId: guest!.id });
  const { application, botToken } = await engine.admin.createApplication({
    name: 'Game',
    ownerId: owner!.id,
  });
  const stranger = await engine.admin.createApplication({ name: 'Other', ownerId: guest!.id });
  const applicationId = application.id as ApplicationId;
  const { port: targetPort } = target.address() as AddressInfo;
  await engine.admin.configureActivity({
    applicationId,
    urlMappings: [{ prefix: '/', target: `127.0.0.1:${targetPort}` }],
  });
  const channel = async (type: 0 | 2, denied: bigint): Promise<string> => {
    const { id } = await engine.api.create_guild_channel(
      { params: { guild_id: guildId }, body: { name: 'place', type } },
      { as: owner!.id },
    );
    if (denied > 0n) await deny(id, denied);
    return id;
  };
  const deny = (channelId: string, denied: bigint) =>
    engine.api.set_channel_permission_overwrite(
      {
        params: { channel_id: channelId, overwrite_id: guest!.id },
        body: { type: 1, allow: '0', deny: String(denied) },
      },
      { as: owner!.id },
    );
  const ask = async (by: Person, method: string, path: string): Promise<Answer> => {
    const response = await fetch(`${api}${path}`, {
      method,
      headers: { authorization: `Bearer ${by.token}`, 'content-type': 'application/json' },
      ...(method === 'PUT' && { body: JSON.stringify({ connection_id: 'one' }) }),
    });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  };
  const join = (by: Person, channelId: string) =>
    ask(by, 'PUT', `/channels/${channelId}/activities/${applicationId}`);
  /** Whether a bot reads an instance, of its own application or of another one. */
  const find = async (instanceId: string, bot: 'own' | 'other', of: 'own' | 'other'): Promise<number> => {
    const id = of === 'own' ? applicationId : stranger.application.id;
    const response = await fetch(`${api}/applications/${id}/activity-instances/${instanceId}`, {
      headers: { authorization: `Bot ${bot === 'own' ? botToken : stranger.botToken}` },
    });
    return response.status;
  };
  const list = (by: Person, channelId: string) => ask(by, 'GET', `/channels/${channelId}/activities`);
  return { ...{ channel, deny, join, list, find }, owner: owner!, guest: guest! };
}

describe('a running activity', () => {
  let world: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    world = await open();
  }, 60_000);

  test.each([
    ['a voice channel', 2, 'CONNECT', P.CONNECT, 403],
    ['a text channel', 0, 'CONNECT', P.CONNECT, 200],
    ['a text channel', 0, 'USE_EMBEDDED_ACTIVITIES', P.USE_EMBEDDED_ACTIVITIES, 403],
  ] as const)(
    'answers, in %s (type %i), the join of a member without %s (bits %s) with %i',
    async (_, type, __, denied, status) => {
      const { channel, join, guest } = world;
      const { status: got, body } = await join(guest, await channel(type, denied));
      expect([got, body.code]).toEqual([status, status === 200 ? undefined : 50_013]);
    },
  );

  test('removes a participant at once when a renewal is rejected', async () => {
    const { channel, deny, join, list, owner, guest } = world;
    const channelId = await channel(2, 0n);
    await join(owner, channelId);
    await join(guest, channelId);
    await deny(channelId, P.CONNECT);
    expect((await join(guest, channelId)).status).toBe(403);
    expect((await list(owner, channelId)).body.activities).toMatchObject([
      { participants: [{ user_id: owner.id }] },
    ]);
  });

  test('is shown to the bot of its application, and to no other bot', async () => {
    const { channel, join, find, owner } = world;
    const { body } = await join(owner, await channel(0, 0n));
    const id = body.activity?.composite_instance_id ?? '';
    expect(await find(id, 'own', 'own')).toBe(200);
    expect(await find(id, 'other', 'own')).toBe(403);
    expect(await find(id, 'other', 'other')).toBe(404);
  });

  test('cannot be joined, and is not listed, by a member who does not see its channel', async () => {
    const { channel, join, list, owner, guest } = world;
    const channelId = await channel(0, P.VIEW_CHANNEL);
    await join(owner, channelId);
    for (const { status, body } of [await join(guest, channelId), await list(guest, channelId)])
      expect([status, body.code]).toEqual([403, 50_001]);
    expect((await list(owner, channelId)).body.activities).toMatchObject([
      { participants: [{ user_id: owner.id }] },
    ]);
  });
});

test.each([
  ['development server', {}, 200],
  ['public server', { public_url: 'https://chat.example.org' }, 502],
])(
  'a URL mapping to the server’s own machine is proxied by a development server and not by a public one: %s',
  async (_, more, status) => {
    const { channel, join, owner } = await open(more);
    const { body } = await join(owner, await channel(0, 0n));
    const { host, port } = new URL(body.origin ?? '');
    const got = await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, headers: { host }, agent: false }, (answer) =>
        resolve(answer.resume().statusCode),
      ).on('error', reject);
    });
    expect(got).toBe(status);
  },
  60_000,
);
