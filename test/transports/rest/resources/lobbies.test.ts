// Goal: what comes over HTTP reaches lobbies as it was meant, in its bounds, from who may; all else is refused in words.
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { watchInvalidCalls } from '../../../../engine/ratelimit/invalid.ts';
import { type Attempt, createLimiter } from '../../../../engine/ratelimit/limiter.ts';
import type { ApplicationId, UserId } from '../../../../protocol/ids.ts';
import { refusal } from '../../../../protocol/refusal.ts';
import { expandScopes, type Scope } from '../../../../protocol/scopes.ts';
import { createCatalog } from '../../../../transports/rest/catalog.ts';
import { createLimits } from '../../../../transports/rest/limits.ts';
import type { Caller } from '../../../../transports/rest/operation.ts';
import { createPipeline } from '../../../../transports/rest/pipeline.ts';
import { lobbies, lobbiesUnlisted } from '../../../../transports/rest/resources/lobbies.ts';
import { BOT, HUMAN, pipelineOf, servicesOf } from '../../../support/rest.ts';

const operations = { ...lobbies, ...lobbiesUnlisted };

/** A player that an application acts for. */
const client = (...scopes: Scope[]): Caller => ({
  ...HUMAN,
  applicationId: '1001' as ApplicationId,
  authorization: {
    id: '1',
    applicationId: '1001' as ApplicationId,
    scopes: expandScopes(scopes),
    expiresMs: Number.MAX_SAFE_INTEGER,
  },
});
const PLAYER = client('sdk.social_layer');

type Method = string;

/** Lobbies that note what they are asked, and answer `reply`. */
function asked(reply: object = { ok: true, value: { id: '900' } }) {
  const calls: (readonly [Method, ...unknown[]])[] = [];
  const service = new Proxy(
    {},
    {
      get:
        (_, method) =>
        async (...args: unknown[]) => {
          // The authority comes last; what it says of the caller is the pipeline's own matter.
          calls.push([String(method), ...args.slice(0, -1)]);
          return reply;
        },
    },
  );
  const { pipeline } = pipelineOf(operations, { services: { lobbies: service }, limited: false });
  const invoke = (operationId: string, call: object = {}, caller: Caller = BOT) =>
    pipeline.invoke(operationId, {
      params: { lobby_id: '900', user_id: '11', message_id: '70', channel_id: '500' },
      ...call,
      ...{ caller, publicUrl: '', address: null },
    } as never);
  return { calls, invoke };
}

const codeOf = ({ status, body }: { status: number; body: unknown }) =>
  [status, (body as { code?: number } | undefined)?.code] as const;
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

describe('access to lobby operations', () => {
  const SERVER_ONLY = [
    'create_lobby',
    'edit_lobby',
    'delete_lobby',
    'add_lobby_member',
    'delete_lobby_member',
    'bulk_update_lobby_members',
    'create_linked_lobby_guild_invite_for_user',
    'update_lobby_message_external_moderation_metadata',
  ] as const;
  const CLIENTS = Object.keys(lobbies).filter((id) => !(SERVER_ONLY as readonly string[]).includes(id));

  test.each(SERVER_ONLY)('%s admits only the bot of an application', async (id) => {
    const { invoke } = asked();
    expect(codeOf(await invoke(id, { body: {} }, PLAYER))).toEqual([403, 20002]);
  });

  test.each(CLIENTS)(
    '%s admits clients with the scope, and returns the missing scope to others',
    async (id) => {
      const { invoke, calls } = asked();
      const body = { secret: 's', content: 'x' };
      expect((await invoke(id, { body }, PLAYER)).status).toBeLessThan(300);
      expect(calls).toHaveLength(1);
      const poor = await invoke(id, { body }, client('identify', 'gateway.connect'));
      expect(codeOf(poor)).toEqual([403, 50026]);
      expect((poor.body as { message: string }).message).toContain('lobbies.write');
      expect(codeOf(await invoke(id, { body }, HUMAN))).toEqual([403, 50025]);
    },
  );
});

describe('a join by secret', () => {
  test('passes only the fields in its body', async () => {
    const { invoke, calls } = asked();
    await invoke('create_or_join_lobby', { body: { secret: 's' } }, PLAYER);
    await invoke(
      'create_or_join_lobby',
      {
        body: {
          secret: 's',
          lobby_metadata: { a: '1' },
          member_metadata: null,
          idle_timeout_seconds: 5,
          flags: 1,
        },
      },
      PLAYER,
    );
    expect(calls).toEqual([
      ['createOrJoin', { secret: 's', lobby: {}, member: {} }],
      [
        'createOrJoin',
        {
          secret: 's',
          lobby: { metadata: { a: '1' }, idle_timeout_seconds: 5, flags: 1 },
          member: { metadata: null },
        },
      ],
    ]);
  });

  test.each([
    [{}],
    [{ secret: '' }],
    [{ secret: 'x'.repeat(251) }],
    [{ secret: 's', idle_timeout_seconds: 4 }],
    [{ secret: 's', idle_timeout_seconds: 604_801 }],
    [{ secret: 's', lobby_metadata: keys(26) }],
    [{ secret: 's', member_metadata: { k: 'v'.repeat(1_025) } }],
    [{ secret: 's', lobby_metadata: { k: 1 } }],
    [{ secret: 's', flags: 2 }],
  ])('is refused when it is malformed: %o', async (body) => {
    const { invoke, calls } = asked();
    const loose = 'lobby_metadata' in body && body.lobby_metadata && 'k' in body.lobby_metadata;
    const result = await invoke('create_or_join_lobby', { body }, PLAYER);
    // A number is taken as its text, as everywhere.
    if (loose) expect(calls).toHaveLength(1);
    else expect(codeOf(result)).toEqual([400, 50035]);
  });
});

describe('the server of an application', () => {
  test('creates a lobby with members, and replaces members only when the body lists them', async () => {
    const { invoke, calls } = asked();
    const body = {
      metadata: { a: '1' },
      members: [
        { id: 11, flags: 1 },
        { id: '12', metadata: null },
      ],
      override_event_webhooks_url: 'https://events.test/x',
    };
    expect((await invoke('create_lobby', { body })).status).toBe(201);
    await invoke('edit_lobby', { body: { flags: 1 } });
    await invoke('edit_lobby', { body: { members: [] } });
    expect(calls).toEqual([
      [
        'create',
        {
          change: { metadata: { a: '1' }, override_event_webhooks_url: 'https://events.test/x' },
          members: [
            { userId: '11', draft: { flags: 1 } },
            { userId: '12', draft: { metadata: null } },
          ],
        },
      ],
      ['update', '900', { change: { flags: 1 }, members: null }],
      ['update', '900', { change: {}, members: [] }],
    ]);
  });

  test.each([
    ['create_lobby', { members: Array.from({ length: 26 }, (_, i) => ({ id: String(i) })) }],
    ['create_lobby', { members: [{ flags: 1 }] }],
    ['create_lobby', { override_event_webhooks_url: 'file:///etc/passwd' }],
    ['edit_lobby', { override_event_webhooks_url: 'not a url' }],
    ['edit_lobby', { override_event_webhooks_url: 'https://events.test\\@inside.test/' }],
    ['create_lobby', { override_event_webhooks_url: 'https://user:pass@events.test/' }],
    ['edit_lobby', { override_event_webhooks_url: `https://e.test/${'x'.repeat(512)}` }],
    ['add_lobby_member', { additional_name: '' }],
    ['add_lobby_member', { additional_name: 'x'.repeat(81) }],
    ['bulk_update_lobby_members', []],
    ['bulk_update_lobby_members', Array.from({ length: 26 }, (_, i) => ({ id: String(i) }))],
    ['bulk_update_lobby_members', [{ remove_member: true }]],
    ['update_lobby_message_external_moderation_metadata', keys(6)],
    ['update_lobby_message_external_moderation_metadata', { k: 'v'.repeat(2_001) }],
  ])('%s refuses %o', async (id, body) => {
    const { invoke, calls } = asked();
    expect(codeOf(await invoke(id, { body }))).toEqual([400, 50035]);
    expect(calls).toEqual([]);
  });

  test('changes members one by one and in bulk', async () => {
    const { invoke, calls } = asked();
    await invoke('add_lobby_member', { body: { additional_name: null } });
    await invoke('bulk_update_lobby_members', {
      body: [
        { id: '11', additional_name: 'Rook' },
        { id: '12', remove_member: true },
      ],
    });
    expect((await invoke('delete_lobby_member')).status).toBe(204);
    expect(calls).toEqual([
      ['setMember', '900', { userId: '11', draft: { additional_name: null } }],
      [
        'setMembers',
        '900',
        [
          { userId: '11', draft: { additional_name: 'Rook' }, remove: false },
          { userId: '12', draft: {}, remove: true },
        ],
      ],
      ['call', '900', 'removeMember', { userId: '11' as UserId }],
    ]);
  });

  test('deletes an unknown lobby without an error, but not a member of one', async () => {
    const { invoke } = asked({ ok: false, refusal: refusal('UNKNOWN_LOBBY') });
    expect((await invoke('delete_lobby')).status).toBe(204);
    expect(codeOf(await invoke('delete_lobby_member'))).toEqual([404, 10031]);
  });
});

describe('messages', () => {
  test('are sent with metadata and flags, and listed in pages of 50, at most 200', async () => {
    const { invoke, calls } = asked({ ok: true, value: [] });
    const body = { content: 'hi', metadata: { a: '1' }, flags: 4 };
    expect((await invoke('create_lobby_message', { body }, PLAYER)).status).toBe(201);
    await invoke('get_lobby_messages', {}, PLAYER);
    await invoke('get_lobby_messages', { query: { limit: '200' } }, PLAYER);
    expect(calls).toEqual([
      ['send', '900', body],
      ['history', '900', 50],
      ['history', '900', 200],
    ]);
    for (const limit of ['0', '201'])
      expect(codeOf(await invoke('get_lobby_messages', { query: { limit } }, PLAYER))).toEqual([400, 50035]);
    const long = { body: { content: 'x'.repeat(2_001) } };
    expect(codeOf(await invoke('create_lobby_message', long, PLAYER))).toEqual([400, 50035]);
  });
});

test('a lobby is linked by a channel_id, and unlinked without one', async () => {
  const { invoke, calls } = asked();
  for (const body of [{ channel_id: '500' }, {}, { channel_id: null }])
    await invoke('edit_lobby_channel_link', { body }, PLAYER);
  await invoke('unlink_channel_from_lobby');
  expect(calls).toEqual([
    ['link', '900', '500'],
    ['link', '900', null],
    ['link', '900', null],
    ['unlinkChannel', '500'],
  ]);
});

describe('the development limits', () => {
  /** How many of `calls` an application's callers may make in turn. */
  async function admitted(development: boolean, operationId: string, calls: number): Promise<number> {
    const clock = new VirtualClock();
    const limiter = createLimiter({ global: { limit: 10_000, windowMs: 1_000 }, entriesMax: 1_000 });
    const take = (attempt: Attempt) => limiter.take(attempt, clock.monotonic());
    const limits = createLimits({ take, invalid: watchInvalidCalls(1_000) }, clock, development);
    const reply = async () => ({ ok: true, value: {} });
    const service = { createOrJoin: reply, link: reply };
    const pipeline = createPipeline({
      catalog: createCatalog(operations),
      services: servicesOf({ lobbies: service }),
      hooks: { before: new Map(), after: new Map() },
      limits,
    });
    let count = 0;
    for (let at = 0; at < calls; at += 1) {
      clock.advance(3_000);
      const caller = { ...PLAYER, userId: String(2_000 + at) as UserId };
      const { status } = await pipeline.invoke(operationId, {
        ...{ params: { lobby_id: '900' }, body: { secret: 's' } },
        ...{ caller, publicUrl: '', address: '127.0.0.1' },
      });
      if (status === 200) count += 1;
    }
    return count;
  }

  test('allow all callers of an application together 100 writes, or 20 links, in two hours', async () => {
    expect(await admitted(true, 'create_or_join_lobby', 120)).toBe(100);
    expect(await admitted(true, 'edit_lobby_channel_link', 30)).toBe(20);
    expect(await admitted(false, 'create_or_join_lobby', 120)).toBe(120);
  });
});
