// Goal: every field that players, games and their servers fill is taken at its bound, and refused one beyond it with the place
// where it stands.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask as askOf, type Player, playerOf } from '../support/players.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.finish());

const player = (name: string) => playerOf(server, name);
const ask = (authorization: string | null, ...asked: Parameters<typeof askOf>[2]) =>
  askOf(server, authorization, asked);

/** The leaf of an error tree that a path leads to. */
function leafAt(errors: unknown, path: string): unknown {
  const keys = path === '' ? [] : path.split('.');
  const node = keys.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], errors);
  return (node as { _errors?: unknown } | undefined)?._errors;
}

const map = (keys: number, chars = 1) =>
  Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, 'v'.repeat(chars)]));
/** A map whose keys and values are `chars` together. */
const total = (chars: number) => ({ k: 'v'.repeat(chars - 1) });
const METADATA = [
  [map(25), map(26), ''],
  [total(1_000), total(1_001), ''],
  [{ k: '😀'.repeat(999) }, { k: '😀'.repeat(1_000) }, ''],
  [{}, { k: 1.5e300, l: [] }, '.l'],
  [null, [], ''],
] as const;
const FLAGS = [
  [1, 2, ''],
  [0, -1, ''],
  [null, '99999999999999999999', ''],
] as const;
const IDLE = [
  [5, 4, ''],
  [604_800, 604_801, ''],
] as const;

/** Marks a field whose valid values lead on to a check of permissions, which is not tested here. */
const UNTRIED = Symbol('untried');

/** Method, path, the rest of the body, a field of it, and pairs of a value that is taken and one that is not. */
type BodyRow = readonly [string, string, object, string, readonly (readonly [unknown, unknown])[]];

const text = (good: number) => [['x'.repeat(good), 'x'.repeat(good + 1)]] as const;
const not = (...bad: unknown[]) => bad.map((value) => [UNTRIED, value] as const);
const dynamic = (count: number) => ({
  dynamic: Array.from({ length: count }, () => ({ type: 2, name: 'n', value: 1 })),
});

function gameRows(ann: Player): readonly BodyRow[] {
  const profile = `/applications/${server.info.application.id}/users/${ann.id}/identities/bounds/profile`;
  const named = { external_user_id: 'named' };
  return [
    ['POST', '/partner-sdk/token/bot', {}, 'external_user_id', text(1_024)],
    ['POST', '/partner-sdk/token/bot', named, 'preferred_global_name', text(32)],
    ['PATCH', profile, {}, 'username', text(1_024)],
    [
      'PATCH',
      profile,
      {},
      'metadata',
      [
        [map(100), map(101)],
        [map(1, 10_000), map(1, 11_000)],
      ],
    ],
    [
      'PATCH',
      profile,
      {},
      'data',
      [
        [dynamic(30), dynamic(31)],
        [null, { primary: { total_wins: -1 } }],
      ],
    ],
    [
      'POST',
      '/application-identities',
      {},
      'user_ids',
      [
        [Array(100).fill('1'), Array(101).fill('1')],
        [['1'], []],
      ],
    ],
  ];
}

function playerRows(friendId: string): readonly BodyRow[] {
  const friend = `/users/@me/relationships/${friendId}`;
  const messages = `/users/${friendId}/messages`;
  const said = { content: 'x' };
  const act = { name: 'x', type: 0 };
  const client = {
    client_id: server.info.application.id,
    client_secret: server.info.application.client_secret,
  };
  const proof = { ...client, external_auth_type: 'OIDC', external_auth_token: 'x' };
  return [
    ['PATCH', '/users/@me/account', {}, 'global_name', text(32)],
    ['POST', '/users/@me/headless-sessions', {}, 'activities', [[[act], [act, act]]]],
    ['POST', '/users/@me/relationships', {}, 'username', not('x'.repeat(38), '', null, {})],
    ['PATCH', friend, {}, 'nickname', not('x'.repeat(33))],
    ['PUT', friend, {}, 'type', not(7, -2, 'x')],
    ['POST', messages, said, 'content', not('x'.repeat(2_001))],
    ['POST', messages, said, 'nonce', not('x'.repeat(26), [])],
    [
      'POST',
      messages,
      said,
      'metadata',
      not(map(26), map(1, 1_025), { ['k'.repeat(1_025)]: '' }, { k: [] }, []),
    ],
    ['POST', messages, said, 'activity', not({ type: 2 }, { type: 1, party_id: 'x'.repeat(129) }, 'x')],
    ['POST', '/partner-sdk/token', proof, 'external_auth_token', not('x'.repeat(10_241), '')],
    ['POST', '/partner-sdk/token', proof, 'external_auth_type', not('OIDC ', 'constructor', null)],
    ['POST', '/partner-sdk/token', proof, 'client_id', not('x', '', '-1', 1e30)],
    [
      'POST',
      '/partner-sdk/child-token',
      { parent_access_token: 'x' },
      'child_application_id',
      not('x', null),
    ],
    ['PATCH', '/users/@me/account', {}, 'global_name', not('', [], {})],
  ];
}

describe('field bounds', () => {
  let ann: Player;
  let lobbyId: string;
  let messageId: string;
  let friendId: string;
  beforeAll(async () => {
    ann = await player('bounds');
    friendId = (await player('bounds too')).id;
    const lobby = await server.bot().call<{ id: string }>('create_lobby', {
      body: { members: [{ id: ann.id }, { id: friendId }] },
    });
    lobbyId = lobby.id;
    const said = { params: { lobby_id: lobbyId }, body: { content: 'x' } };
    messageId = (await ann.rest.call<{ id: string }>('create_lobby_message', said)).id;
  });

  /** Values of one field of an operation: an accepted one, a refused one, and the path of the error below the field. */
  type Row = readonly [
    string,
    'bot' | 'player',
    object,
    string,
    readonly (readonly [unknown, unknown, string])[],
  ];
  const rows: readonly Row[] = [
    [
      'create_or_join_lobby',
      'player',
      {},
      'secret',
      [
        ['x'.repeat(250), 'x'.repeat(251), ''],
        ['🔑', '', ''],
      ],
    ],
    ['create_or_join_lobby', 'player', { secret: 's' }, 'idle_timeout_seconds', IDLE],
    ['create_or_join_lobby', 'player', { secret: 's' }, 'lobby_metadata', METADATA],
    ['create_or_join_lobby', 'player', { secret: 's' }, 'member_metadata', METADATA],
    ['create_or_join_lobby', 'player', { secret: 's' }, 'flags', FLAGS],
    ['create_lobby', 'bot', {}, 'metadata', METADATA],
    ['create_lobby', 'bot', {}, 'idle_timeout_seconds', IDLE],
    ['create_lobby', 'bot', {}, 'flags', FLAGS],
    ['edit_lobby', 'bot', {}, 'metadata', METADATA],
    ['edit_lobby', 'bot', {}, 'idle_timeout_seconds', IDLE],
    [
      'edit_lobby',
      'bot',
      {},
      'override_event_webhooks_url',
      [
        [`https://a.example/${'x'.repeat(494)}`, `https://a.example/${'x'.repeat(495)}`, ''],
        [null, 'javascript:alert(1)', ''],
      ],
    ],
    ['add_lobby_member', 'bot', {}, 'metadata', METADATA],
    ['add_lobby_member', 'bot', {}, 'flags', FLAGS],
    [
      'add_lobby_member',
      'bot',
      {},
      'additional_name',
      [
        ['x'.repeat(80), 'x'.repeat(81), ''],
        ['😀'.repeat(80), '', ''],
        [null, '   ', ''],
      ],
    ],
    ['create_lobby_message', 'player', {}, 'content', [['x'.repeat(2_000), 'x'.repeat(2_001), '']]],
    ['create_lobby_message', 'player', { content: 'x' }, 'metadata', METADATA],
  ];

  test.each(rows)('%s by a %s %o: %s', async (operation, by, base, field, values) => {
    const rest = by === 'bot' ? server.bot() : ann.rest;
    const params = { lobby_id: lobbyId, user_id: ann.id };
    for (const [good, bad, below] of values) {
      const taken = await rest.ask(operation, { params, body: { ...base, [field]: good } });
      expect(taken, `${field} ${JSON.stringify(good)?.slice(0, 80)}`).toMatchObject({
        status: expect.toSatisfy((s: number) => s < 300),
      });
      const refused = await rest.ask(operation, { params, body: { ...base, [field]: bad } });
      expect(refused, `${field} ${JSON.stringify(bad)?.slice(0, 80)}`).toMatchObject({
        status: 400,
        body: { code: 50035 },
      });
      expect(leafAt(refused.body.errors, `${field}${below}`), JSON.stringify(refused.body)).toBeInstanceOf(
        Array,
      );
    }
  });

  test('member lists, message pages and moderation metadata are accepted within their bounds only', async () => {
    const bot = server.bot();
    const params = { lobby_id: lobbyId };
    const members = (count: number, more: object = {}) =>
      Array.from({ length: count }, () => ({ id: friendId, ...more }));
    const bulk = (body: unknown) => bot.ask('bulk_update_lobby_members', { params, body });
    expect((await bulk(members(25))).status).toBe(200);
    for (const body of [
      members(26),
      [],
      {},
      [{}],
      members(2, { metadata: map(26) }),
      members(1, { additional_name: '' }),
    ])
      expect(await bulk(body), JSON.stringify(body).slice(0, 80)).toMatchObject({
        status: 400,
        body: { code: 50035 },
      });
    expect(await bulk([{ id: '1' }])).toMatchObject({ status: 404, body: { code: 10013 } });
    for (const [operation, count, status] of [
      ['create_lobby', 25, 201],
      ['create_lobby', 26, 400],
      ['edit_lobby', 26, 400],
    ] as const)
      expect((await bot.ask(operation, { params, body: { members: members(count) } })).status).toBe(status);
    for (const [limit, status] of [
      [1, 200],
      [200, 200],
      [0, 400],
      [201, 400],
      ['1e2', 400],
      ['', 400],
    ] as const)
      expect(
        (await ann.rest.ask('get_lobby_messages', { params, query: { limit } })).status,
        String(limit),
      ).toBe(status);
    const judge = (body: unknown) =>
      bot.ask('update_lobby_message_external_moderation_metadata', {
        params: { ...params, message_id: messageId },
        body,
      });
    for (const good of [map(5, 2_000), { ['k'.repeat(1_024)]: '' }, {}])
      expect((await judge(good)).status).toBe(204);
    for (const bad of [map(6), map(1, 2_001), { ['k'.repeat(1_025)]: '' }, [], 'x'])
      expect(await judge(bad), JSON.stringify(bad).slice(0, 60)).toMatchObject({
        status: 400,
        body: { code: 50035 },
      });
    expect(
      (await ann.rest.ask('create_lobby_message', { params, body: { content: 'x', flags: 1 << 2 } })).status,
    ).toBe(201);
  });

  test.each(['game', 'player'] as const)(
    'accounts, relationships, messages and profiles, for a %s',
    async (by) => {
      const rows = by === 'game' ? gameRows(ann) : playerRows(friendId);
      const authorization = by === 'game' ? `Bot ${server.info.bot.token}` : `Bearer ${ann.token}`;
      for (const [method, path, base, field, values] of rows)
        for (const [good, bad] of values) {
          const what = `${method} ${path} ${field}`;
          const sent = (value: unknown) => ask(authorization, method, path, { ...base, [field]: value });
          if (good !== UNTRIED) expect((await sent(good)).status, what).toBeLessThan(300);
          const errors = { [field]: expect.anything() };
          expect(await sent(bad), what).toMatchObject({ status: 400, body: { code: 50035, errors } });
        }
    },
  );

  test('NUL, lone surrogates and keys such as constructor are stored as plain text', async () => {
    const odd = { '\u0000k\ud800': 'a\u0000b\udfff', constructor: 'c', toString: 't' };
    const params = { lobby_id: lobbyId, user_id: ann.id };
    const member = await server
      .bot()
      .call<{ metadata: object }>('add_lobby_member', { params, body: { metadata: odd } });
    expect(Object.keys(member.metadata)).toHaveLength(3);
    const said = await ann.rest.ask('create_lobby_message', {
      params,
      body: { content: '\u0000x\ud800', metadata: odd },
    });
    expect(said.status).toBe(201);
    const raw = await fetch(`${server.info.api}/v10/lobbies/${lobbyId}`, {
      method: 'PATCH',
      headers: { authorization: `Bot ${server.info.bot.token}`, 'content-type': 'application/json' },
      body: '{"metadata":{"__proto__":"x","a":"b"}}',
    });
    expect(raw.status).toBe(200);
    expect(await server.bot().call('get_lobby', { params })).toMatchObject({ metadata: { a: 'b' } });
    const profile = `/applications/${server.info.application.id}/users/${ann.id}/identities/bounds/profile`;
    const kept = await ask(`Bot ${server.info.bot.token}`, 'PATCH', profile, {
      metadata: { deep: { '\u0000': ['\u0000\ud800'] } },
    });
    expect(kept.status).toBeLessThan(300);
    const token = await server.bot().ask('bot_partner_sdk_token', {
      body: { external_user_id: 'odd\u0000\ud800', preferred_global_name: '\u0000\ud800\u202e' },
    });
    expect(token.status).toBeLessThan(500);
  });
});
