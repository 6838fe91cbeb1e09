// Goal: what a connection may ask for, how often, and what READY says, as the platform documents it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../../config/config.ts';
import { Allowance } from '../../../engine/session/allowance.ts';
import { guildsOfShard, judgeIdentify, shardOf } from '../../../engine/session/identify.ts';
import { asksForAll, grantedRequest, MemberListRequests } from '../../../engine/session/memberlists.ts';
import { readyPayload } from '../../../engine/session/ready.ts';
import { SessionStarts, UNLIMITED_STARTS } from '../../../engine/session/starts.ts';
import type { ApplicationId, GuildId, SessionId, UserId } from '../../../protocol/ids.ts';
import { ALL_INTENTS, ALL_PRIVILEGED_FLAGS, INTENTS } from '../../../protocol/intents.ts';
import { OP } from '../../../protocol/opcodes.ts';
import type { Scope } from '../../../protocol/scopes.ts';

describe('the allowance of a connection', () => {
  const takeMany = (allowance: Allowance, op: number, times: number, atMs = 0) =>
    Array.from({ length: times }, () => allowance.take(op, atMs)).lastIndexOf(true) + 1;

  it.each([OP.PRESENCE_UPDATE, OP.HEARTBEAT, 99])('lets 120 payloads of opcode %i through a minute', (op) => {
    expect(takeMany(new Allowance(), op, 200)).toBe(120);
  });

  it('owes a full sender its heartbeats', () => {
    const allowance = new Allowance();
    expect(takeMany(allowance, OP.PRESENCE_UPDATE, 120)).toBe(120);
    expect(allowance.take(OP.HEARTBEAT, 1000)).toBe(true);
    expect(allowance.take(OP.PRESENCE_UPDATE, 1000)).toBe(false);
  });

  it('opens again after a minute', () => {
    const allowance = new Allowance();
    takeMany(allowance, 8, 121);
    expect(allowance.take(8, 59_000)).toBe(false);
    expect(allowance.take(8, 60_000)).toBe(true);
  });

  it('lets five presence updates through in 20 s and says how long the sixth waits', () => {
    const allowance = new Allowance();
    expect([0, 0, 0, 0, 0, 0].map(() => allowance.takePresence(1000))).toEqual([0, 0, 0, 0, 0, 20_000]);
    expect(allowance.takePresence(20_999)).toBe(1);
    expect(allowance.takePresence(21_000)).toBe(0);
  });
});

describe('IDENTIFY', () => {
  const bot = { bot: true, applicationFlags: 0, authorization: null };
  const judge = (intents: number | null, shard: [number, number] = [0, 1], by = bot) =>
    judgeIdentify({ intents, shard }, by)?.code ?? null;

  it.each([
    [[0, 1], null],
    [[3, 4], null],
    [[4, 4], 4010],
    [[-1, 4], 4010],
    [[0, 0], 4010],
    [[0.5, 2], 4010],
    [[0, 1e9], 4010],
  ] as const)('judges shard %j as %s', (shard, code) => {
    expect(judge(0, [...shard])).toBe(code);
  });

  it.each([
    [0, null],
    [INTENTS.GUILDS | INTENTS.GUILD_MESSAGES, null],
    [-1, 4013],
    [0.5, 4013],
    [1 << 29, 4013],
    [2 ** 40, 4013],
    [null, 4013],
    [INTENTS.MESSAGE_CONTENT, 4014],
    [INTENTS.GUILD_MEMBERS, 4014],
    [INTENTS.GUILD_PRESENCES, 4014],
  ])('judges intents %s of a bot without privileges as %s', (intents, code) => {
    expect(judge(intents)).toBe(code);
  });

  it('grants privileged intents by application flags, and users need to send none', () => {
    expect(judge(ALL_INTENTS, [0, 1], { ...bot, applicationFlags: ALL_PRIVILEGED_FLAGS })).toBeNull();
    expect(judge(null, [0, 1], { ...bot, bot: false })).toBeNull();
  });

  const acting = (scopes: readonly Scope[], intents: number | null = 0, shard: [number, number] = [0, 1]) =>
    judgeIdentify(
      { intents, shard },
      {
        bot: false,
        applicationFlags: 0,
        authorization: {
          id: '1',
          applicationId: '3' as ApplicationId,
          scopes: new Set(scopes),
          expiresMs: 0,
        },
      },
    );

  it.each([
    [['identify', 'gateway.connect'], undefined],
    [['identify', 'voice'], undefined],
    [['gateway.connect'], 'identify'],
    [['identify', 'lobbies.write'], 'gateway.connect'],
    [[], 'identify'],
  ] as const)('names to an application with the scopes %j the one it lacks: %s', (scopes, lacking) => {
    const verdict = acting(scopes);
    if (lacking === undefined) expect(verdict).toBeNull();
    else expect(verdict).toMatchObject({ code: 4004, reason: expect.stringContaining(`"${lacking}"`) });
  });

  it('asks an application that acts for a user for intents, and gives it no shards and no privileges', () => {
    const scopes = ['identify', 'gateway.connect'] as const;
    expect(acting(scopes, null)?.code).toBe(4013);
    expect(acting(scopes, 0, [0, 2])?.code).toBe(4010);
    expect(acting(scopes, ALL_INTENTS)).toBeNull();
  });

  it('gives every guild to exactly one shard', () => {
    const ids = fc.array(fc.bigInt(1n, (1n << 63n) - 1n).map((id) => String(id) as GuildId));
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 50 }), (guildIds, count) => {
        const parts = Array.from({ length: count }, (_, id) => guildsOfShard(guildIds, [id, count]));
        expect(parts.flat().sort()).toEqual([...guildIds].sort());
      }),
    );
    expect(shardOf(String(5n << 22n), 3)).toBe(2);
  });
});

describe('session starts', () => {
  it('are limited to one per bucket in five seconds', () => {
    const starts = new SessionStarts({ maxConcurrency: 2, perDayMax: 100 });
    expect([0, 1, 2, 3].map((shard) => starts.take('1', shard, 0))).toEqual([
      'ok',
      'ok',
      'tooSoon',
      'tooSoon',
    ]);
    expect(starts.take('2', 0, 0)).toBe('ok');
    expect(starts.take('1', 2, 4999)).toBe('tooSoon');
    expect(starts.take('1', null, 4999)).toBe('ok');
    expect(starts.take('1', 2, 5000)).toBe('ok');
  });

  it('are counted per day, with the remaining number', () => {
    const starts = new SessionStarts({ maxConcurrency: 1, perDayMax: 2 });
    const limit = { total: 2, max_concurrency: 1 };
    expect(starts.limitOf('1', 0)).toEqual({ ...limit, remaining: 2, reset_after: 0 });
    expect([0, 5000, 10_000].map((atMs) => starts.take('1', 0, atMs))).toEqual(['ok', 'ok', 'tooMany']);
    expect(starts.limitOf('1', 10_000)).toEqual({ ...limit, remaining: 0, reset_after: 86_390_000 });
    expect(starts.take('1', 0, 86_400_000)).toBe('ok');
  });

  it('are dropped for bots whose day has ended, once there are records of 1,024 bots', () => {
    const starts = new SessionStarts({ maxConcurrency: 1, perDayMax: 1 });
    for (let bot = 0; bot < 5000; bot += 1) {
      starts.take(String(bot), 0, Math.floor(bot / 300) * 86_400_000);
      expect(starts.size).toBeLessThanOrEqual(1024);
    }
    expect(starts.take('0', 0, 17 * 86_400_000)).toBe('ok');
  });

  it('stay counted for more than 1,024 bots of one day, and their records are at most doubled by earlier ones', () => {
    const starts = new SessionStarts({ maxConcurrency: 1, perDayMax: 1 });
    let mostRecords = 0;
    const takeAll = (day: number) =>
      Array.from({ length: 1100 }, (_, bot) => {
        const verdict = starts.take(`${day}.${bot}`, null, day * 86_400_000);
        mostRecords = Math.max(mostRecords, starts.size);
        return verdict;
      });
    for (let day = 0; day < 4; day += 1) {
      expect(new Set(takeAll(day))).toEqual(new Set(['ok']));
      expect(new Set(takeAll(day))).toEqual(new Set(['tooMany']));
    }
    expect(mostRecords).toBeLessThanOrEqual(2200);
  });

  it('are reported as the greatest values of their settings by a server that does not limit them', () => {
    const greatest = (name: 'session_starts_per_day' | 'max_concurrency') =>
      (SETTINGS[name].schema as { readonly maximum?: number }).maximum;
    const perDay = greatest('session_starts_per_day');
    expect(UNLIMITED_STARTS).toEqual({
      ...{ total: perDay, remaining: perDay, reset_after: 0 },
      max_concurrency: greatest('max_concurrency'),
    });
  });

  it('are forgotten at the end of a day, also in what remains', () => {
    const starts = new SessionStarts({ maxConcurrency: 1, perDayMax: 1 });
    starts.take('1', null, 0);
    expect(starts.limitOf('1', 86_399_999.5)).toMatchObject({ remaining: 0, reset_after: 1 });
    expect(starts.limitOf('1', 86_400_000)).toMatchObject({ remaining: 1, reset_after: 0 });
    expect([86_399_999, 86_400_000].map((atMs) => starts.take('1', null, atMs))).toEqual(['tooMany', 'ok']);
  });
});

describe('requests for the member list', () => {
  it('are for all only with an empty query and no limit', () => {
    const of = (query: string | null, limit: number) => asksForAll({ guildId: '1', query, limit });
    expect([of('', 0), of('', 5), of('a', 0), of(null, 0)]).toEqual([true, false, false, false]);
  });

  it('are let through once in 30 s per bot and guild', () => {
    const requests = new MemberListRequests();
    expect(requests.take('1', 'g', 0)).toBe(0);
    expect(requests.take('1', 'g', 10_000)).toBe(20_000);
    expect(requests.take('1', 'h', 10_000)).toBe(0);
    expect(requests.take('2', 'g', 10_000)).toBe(0);
    expect(requests.take('1', 'g', 30_000)).toBe(0);
  });

  it('stay bounded in memory and right while old ones are swept', () => {
    const requests = new MemberListRequests();
    for (let index = 0; index < 5000; index += 1) requests.take('1', String(index), index * 1000);
    expect(requests.take('1', '4999', 4_999_000)).toBe(30_000);
  });

  it('get what the intents allow', () => {
    const request = { guildId: '1', query: '', limit: 0, presences: true };
    expect(grantedRequest(request, 0)).toBeNull();
    expect(grantedRequest(request, INTENTS.GUILD_MEMBERS)).toEqual({ ...request, presences: false });
    expect(grantedRequest(request, INTENTS.GUILD_MEMBERS | INTENTS.GUILD_PRESENCES)).toEqual(request);
    expect(grantedRequest({ ...request, limit: 1 }, 0)).toEqual({ ...request, limit: 1, presences: false });
  });
});

describe('READY', () => {
  const facts = {
    version: 10,
    user: { id: '1' as UserId, username: 'bot', discriminator: '0', global_name: null, avatar: null },
    application: null,
    sessionId: 'ab' as SessionId,
    resumeUrl: 'ws://127.0.0.1:1',
    guildIds: ['5' as GuildId],
    privateChannels: [{ id: '9' }],
    relations: null,
    authorization: null,
    shard: [0, 1],
  } as const;

  it('announces guilds as unavailable, with the URL to resume at', () => {
    expect(readyPayload({ ...facts, shard: [0, 2] })).toMatchObject({
      v: 10,
      guilds: [{ id: '5', unavailable: true }],
      session_id: 'ab',
      resume_gateway_url: 'ws://127.0.0.1:1',
      shard: [0, 2],
      private_channels: [{ id: '9' }],
    });
  });

  it('lists related users for people, each user once', () => {
    const friend = { id: '7', username: 'friend' };
    const relations = {
      relationships: [{ id: '7', type: 1, user: friend }],
      gameRelationships: [],
      presences: [{ user: { id: '7' }, status: 'idle' }],
      profiles: {},
    };
    const privateChannels = [{ id: '9', recipients: [friend] }];
    const ready = readyPayload({ ...facts, relations, privateChannels });
    expect(ready).toMatchObject({
      session_type: 'normal',
      relationships: relations.relationships,
      game_relationships: [],
      presences: relations.presences,
      users: [friend],
    });
    expect(ready).not.toHaveProperty('scopes');
    expect(readyPayload(facts)).not.toHaveProperty('users');
  });

  it('lists granted scopes for an application, and its lobbies if it can take them at once', () => {
    const relations = { relationships: [], gameRelationships: [], presences: [], profiles: { '1': [{}] } };
    const authorization = {
      scopes: new Set(['identify', 'voice'] as const),
      staticSessionId: 'one',
      lobbies: null,
    };
    const application = { id: '3' as ApplicationId, flags: 5, name: 'Game', parentId: null };
    const ready = readyPayload({ ...facts, application, guildIds: [], relations, authorization });
    expect(ready).toMatchObject({
      session_type: 'oauth',
      guilds: [],
      scopes: ['identify', 'voice'],
      application: { id: '3', flags: 5, flags_new: '5', name: 'Game', parent_id: null },
      static_client_session_id: 'one',
      av_sf_protocol_floor: 1,
      feature_flags: { disabled_functions: [], disabled_gateway_events: [] },
      user_application_profiles: { '1': [{}] },
    });
    expect(ready).not.toHaveProperty('lobbies');
    const lobbies = [{ id: '8' }];
    expect(readyPayload({ ...facts, relations, authorization: { ...authorization, lobbies } })).toMatchObject(
      { lobbies },
    );
  });

  it('has empty lists of relations for a bot, because stock libraries iterate them', () => {
    expect(readyPayload(facts)).toMatchObject({ relationships: [], presences: [] });
  });

  it('gives direct messages to shard 0 alone', () => {
    expect(readyPayload({ ...facts, shard: [1, 2] })).toMatchObject({ private_channels: [] });
  });
});
