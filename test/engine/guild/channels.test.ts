/** Goal: channels have the wire's shape for their type, stand where they may, and open only by who holds the bits. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import { type ChannelDraft, channels } from '../../../engine/guild/channels.ts';
import type { Guild, GuildChannel, GuildInfo } from '../../../engine/guild/guild.ts';
import { info } from '../../../engine/guild/info.ts';
import { voice } from '../../../engine/guild/voice.ts';
import type { By } from '../../../engine/kernel/authority.ts';
import { channelPermissions, guildPermissions } from '../../../engine/permissions/permissions.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { ALL_PERMISSIONS, P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  GUILD_ID,
  type GuildWithSessions,
  overwrite,
  RecordingSession,
  role,
} from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(channels, info, voice, audit);
/** One source of ids for all, so that no two things share one. */
const env = envAt();
const owner = caller('2');
/** Holds MANAGE_CHANNELS and MANAGE_ROLES, and what everyone holds. */
const builder = caller('10', { reason: 'more room' });
const plain = caller('11');
const EVERYONE = P.VIEW_CHANNEL | P.SEND_MESSAGES;

/** Category 50 with text 51 in it, text 52 and voice 53 beside it. Users: 2 owner, 10 builder, 11 plain. */
function arrange(more: Partial<GuildInfo> = {}): GuildWithSessions {
  const hide = [overwrite('101', 0, { deny: P.SEND_MESSAGES })];
  const guild = buildGuild({
    everyone: EVERYONE,
    roles: [role('100', P.MANAGE_CHANNELS | P.MANAGE_ROLES, 2), role('101', 0n, 1)],
    members: [fullMember('10', ['100']), fullMember('11', ['101'])],
    channels: [
      channel('50', hide, { type: 4 }),
      channel('51', hide, { parent_id: '50' }),
      channel('52', [], { position: 1 }),
      channel('53', [], { type: 2 }),
    ],
  });
  guild.info = { ...guild.info, features: ['NEWS'], premium_tier: 0, ...more };
  return guild;
}

const at = (guild: Guild, channelId: string): GuildChannel => guild.channels.get(channelId as ChannelId)!;
const create = (guild: Guild, draft: ChannelDraft & { name: string }, by: By = owner) =>
  run<GuildChannel>(guild, 'createChannel', { draft }, by, env);
const update = (guild: Guild, channelId: string, draft: ChannelDraft, by: By = owner) =>
  run<GuildChannel>(guild, 'updateChannel', { channelId, draft }, by, env);

function subscribe(guild: GuildWithSessions, ...userIds: string[]): void {
  for (const userId of userIds) {
    guild.audiences.add(new RecordingSession(userId, userId));
  }
}

describe('creating a channel', () => {
  it.each<[string, ChannelDraft & { name: string }, object]>([
    [
      'text',
      { name: ' Big  News ' },
      { type: 0, name: 'big-news', topic: null, nsfw: false, last_pin_timestamp: null },
    ],
    [
      'voice',
      { type: 2, name: 'Big News' },
      { name: 'Big News', bitrate: 64_000, user_limit: 0, rtc_region: null },
    ],
    ['category', { type: 4, name: 'Rooms' }, { name: 'Rooms', parent_id: null }],
    [
      'announcements',
      { type: 5, name: 'n', default_auto_archive_duration: 60 },
      { default_auto_archive_duration: 60 },
    ],
    ['stage', { type: 13, name: 's', user_limit: 10_000 }, { user_limit: 10_000, last_pin_timestamp: null }],
    [
      'forum',
      { type: 15, name: 'f' },
      { available_tags: [], default_forum_layout: 0, default_sort_order: null },
    ],
  ])('creates %s with the defaults of its type', (_type, draft, shape) => {
    const { outcome } = create(arrange(), draft);
    expect(outcome).toMatchObject({
      ok: true,
      value: { guild_id: GUILD_ID, flags: 0, permission_overwrites: [], ...shape },
    });
  });

  it('appends it to its group, copies the overwrites of the category and logs it', () => {
    const guild = arrange();
    const { outcome, dispatches } = create(guild, { name: 'x', parent_id: '50' as ChannelId }, builder);
    const made = outcome.ok ? outcome.value : null;
    expect(made).toMatchObject({ position: 1, parent_id: '50' });
    expect(made?.permission_overwrites).toEqual(at(guild, '50').permission_overwrites);
    expect(dispatches.map(({ t, to }) => [t, to.kind])).toEqual([
      ['CHANNEL_CREATE', 'channel'],
      ['GUILD_AUDIT_LOG_ENTRY_CREATE', 'guild'],
    ]);
    expect(dispatches[1]?.d).toMatchObject({ action_type: 10, target_id: made?.id, reason: 'more room' });
  });

  it.each<[string, ChannelDraft, By, number | undefined]>([
    ['one without the bit', {}, plain, 50013],
    ['an unknown category', { parent_id: '99' as ChannelId }, owner, 50035],
    ['a text channel for a category', { parent_id: '52' as ChannelId }, owner, 50035],
    ['a category in a category', { type: 4, parent_id: '50' as ChannelId }, owner, 50035],
    ['a directory', { type: 14 }, owner, 50024],
    ['a thread', { type: 11 }, owner, 50024],
    ['an empty name', { name: ' \u3000 ' }, owner, 50035],
    ['a long topic', { topic: 'x'.repeat(1025) }, owner, 50035],
    ['a long topic in a forum', { type: 15, topic: 'x'.repeat(1025) }, owner, undefined],
    ['1024 astral characters', { topic: '🦔'.repeat(1024) }, owner, undefined],
    ['too much bitrate', { type: 2, bitrate: 96_001 }, owner, 30052],
    ['too much bitrate for a stage', { type: 13, bitrate: 64_001 }, owner, 30052],
    ['too many seats', { type: 2, user_limit: 100 }, owner, 50035],
    ['a tag twice', { type: 15, available_tags: [{ name: 'a' }, { name: 'a' }] }, owner, 40061],
    ['an unknown tag', { type: 15, available_tags: [{ id: '1', name: 'a' }] }, owner, 10087],
    ['a long tag', { type: 15, available_tags: [{ name: 'x'.repeat(21) }] }, owner, 50035],
    [
      'an overwrite of bits held',
      { permission_overwrites: [{ id: '101', allow: String(EVERYONE) }] },
      builder,
      undefined,
    ],
    [
      'an overwrite of a bit lacked',
      { permission_overwrites: [{ id: '101', deny: String(P.CONNECT) }] },
      builder,
      50013,
    ],
    [
      'MANAGE_ROLES in a new channel',
      { permission_overwrites: [{ id: '101', allow: String(P.MANAGE_ROLES) }] },
      builder,
      50013,
    ],
    ['an overwrite for an unknown role', { permission_overwrites: [{ id: '9', type: 0 }] }, owner, 10011],
  ])('answers %s', (_what, draft, by, code) => {
    expect(create(arrange(), { name: 'x', ...draft }, by).code).toBe(code);
  });

  it('is limited to 50 in a category and 500 in a guild, and announcements require their feature', () => {
    const full = arrange();
    for (let i = 0; i < 49; i++) {
      full.channels.set(String(1000 + i) as ChannelId, channel(String(1000 + i), [], { parent_id: '50' }));
    }
    expect(create(full, { name: 'x', parent_id: '50' as ChannelId }).code).toBe(50035);
    for (let i = full.channels.size; i < 500; i++) {
      full.channels.set(String(2000 + i) as ChannelId, channel(String(2000 + i)));
    }
    expect(create(full, { name: 'x' }).code).toBe(30013);
    expect(create(arrange({ features: [] }), { name: 'x', type: 5 }).code).toBe(50024);
    expect(
      create(arrange({ premium_tier: 3 }), { name: 'x', type: 2, bitrate: 384_000 }).code,
    ).toBeUndefined();
  });

  it('requires MANAGE_CHANNELS in the target category', () => {
    const guild = arrange();
    const opened = [overwrite('11', 1, { allow: P.MANAGE_CHANNELS })];
    guild.channels.set('50' as ChannelId, channel('50', opened, { type: 4 }));
    expect(create(guild, { name: 'x', parent_id: '50' as ChannelId }, plain).code).toBeUndefined();
    expect(create(guild, { name: 'x' }, plain).code).toBe(50013);
  });
});

describe('changing a channel', () => {
  it('sets the given fields, resets null ones and keeps the others', () => {
    const guild = arrange();
    update(guild, '52', { topic: 'tea', rate_limit_per_user: 5 });
    const { dispatches } = update(guild, '52', { topic: null, nsfw: true }, builder);
    expect(at(guild, '52')).toMatchObject({ topic: null, nsfw: true, rate_limit_per_user: 5 });
    expect(dispatches.map(({ t }) => t)).toEqual(['CHANNEL_UPDATE', 'GUILD_AUDIT_LOG_ENTRY_CREATE']);
    expect(dispatches[1]?.d).toMatchObject({
      action_type: 11,
      changes: [
        { key: 'topic', old_value: 'tea' },
        { key: 'nsfw', new_value: true, old_value: false },
      ],
    });
  });

  it('dispatches nothing when nothing changes', () => {
    const guild = arrange();
    update(guild, '52', { topic: 'tea' });
    expect(update(guild, '52', { topic: 'tea' }).facts).toEqual([]);
  });

  it.each<[string, string, ChannelDraft, number | undefined]>([
    ['text into announcements', '52', { type: 5 }, undefined],
    ['text into voice', '52', { type: 2 }, 50024],
    ['into the category', '52', { parent_id: '50' as ChannelId }, undefined],
    ['into an unknown category', '52', { parent_id: '99' as ChannelId }, 50035],
  ])('answers a change %s', (_what, channelId, draft, code) => {
    expect(update(arrange(), channelId, draft, builder).code).toBe(code);
  });

  it('keeps the tags it knows and makes the others', () => {
    const guild = arrange();
    const made = create(guild, {
      name: 'f',
      type: 15,
      available_tags: [{ name: 'a', emoji_name: '🦔' }],
    }).outcome;
    const forum = (made.ok ? made.value : null) as unknown as {
      id: string;
      available_tags: { id: string }[];
    };
    const first = forum.available_tags[0]!;
    expect(first).toEqual({
      id: expect.any(String),
      name: 'a',
      moderated: false,
      emoji_id: null,
      emoji_name: '🦔',
    });
    const draft = {
      available_tags: [
        { id: first.id, name: 'b' },
        { name: 'c', moderated: true },
      ],
      flags: 16 | 2,
    };
    expect(update(guild, forum.id, draft).outcome).toMatchObject({
      value: {
        available_tags: [
          { id: first.id, name: 'b' },
          { name: 'c', moderated: true },
        ],
        flags: 16,
      },
    });
  });

  it('updates the children of a category that are synced with it, and no others', () => {
    const guild = arrange();
    guild.channels.set('54' as ChannelId, channel('54', [], { parent_id: '50' }));
    const overwrites = [{ id: '101', allow: String(P.SEND_MESSAGES) }];
    update(guild, '50', { permission_overwrites: overwrites });
    expect(at(guild, '51').permission_overwrites).toEqual(at(guild, '50').permission_overwrites);
    expect(at(guild, '54').permission_overwrites).toEqual([]);
  });
});

describe('deleting a channel', () => {
  it('detaches the children of a category, clears guild settings and disconnects voice members', () => {
    const guild = arrange({ afk_channel_id: '53' as ChannelId });
    const state = { user_id: '11', channel_id: '53', session_id: 'x', guild_id: GUILD_ID };
    guild.voiceStates.set('11' as UserId, state as never);
    run(guild, 'deleteChannel', { channelId: '50' }, owner);
    expect(at(guild, '51').parent_id).toBeNull();
    const { types, dispatches } = run(guild, 'deleteChannel', { channelId: '53' }, builder);
    expect(types).toEqual(['guildUpdated', 'voiceStateChanged', 'channelDeleted', 'auditLogged']);
    expect(guild.info.afk_channel_id).toBeNull();
    expect(guild.voiceStates.size).toBe(0);
    expect(dispatches.find(({ t }) => t === 'CHANNEL_DELETE')).toMatchObject({
      d: { id: '53', type: 2 },
      to: { kind: 'channel', channelId: '53' },
    });
  });

  it('removes its messages and invites from the working set', () => {
    const guild = arrange();
    guild.messages.set('70' as never, { channel_id: '52' } as never);
    guild.messages.set('71' as never, { channel_id: '51' } as never);
    guild.invites.set('abc', { channel_id: '52' } as never);
    run(guild, 'deleteChannel', { channelId: '52' }, owner);
    expect([...guild.messages.keys()]).toEqual(['71']);
    expect(guild.invites.get('abc')).toBeNull();
  });

  it('is refused while the community features use the channel', () => {
    const guild = arrange({ features: ['COMMUNITY'], rules_channel_id: '52' as ChannelId });
    expect(run(guild, 'deleteChannel', { channelId: '52' }, owner).code).toBe(50074);
  });
});

describe('overwrites', () => {
  const set = (guild: Guild, channelId: string, draft: object, by: By) =>
    run(guild, 'setOverwrite', { channelId, overwrite: draft }, by);

  it('are created, changed and deleted, each with an audit log entry', () => {
    const guild = arrange();
    const made = set(guild, '52', { id: '101', deny: String(P.SEND_MESSAGES) }, builder);
    const changed = set(guild, '52', { id: '101', allow: String(P.SEND_MESSAGES) }, builder);
    const gone = run(guild, 'deleteOverwrite', { channelId: '52', overwriteId: '101' }, builder);
    const entries = [made, changed, gone].map(({ dispatches }) => dispatches.at(-1)?.d);
    const options = { id: '101', type: '0', role_name: 'role 101' };
    expect(entries).toMatchObject([
      { action_type: 13, target_id: '52', options, reason: 'more room' },
      { action_type: 14, target_id: '52', options, changes: [{ key: 'allow' }, { key: 'deny' }] },
      { action_type: 15, target_id: '52', options },
    ]);
    expect(at(guild, '52').permission_overwrites).toEqual([]);
  });

  it.each<[string, object, By, number | undefined]>([
    ['for a member', { id: '11', type: 1, deny: String(P.VIEW_CHANNEL) }, builder, undefined],
    ['for an unknown member', { id: '99', type: 1 }, builder, 10009],
    ['for an unknown role', { id: '99', type: 0 }, builder, 10009],
    ['of a bit the caller lacks', { id: '101', allow: String(P.MANAGE_MESSAGES) }, builder, 50013],
    ['of MANAGE_ROLES, to oneself', { id: '10', type: 1, allow: String(P.MANAGE_ROLES) }, builder, 50013],
    ['of ADMINISTRATOR', { id: '101', allow: String(P.ADMINISTRATOR) }, builder, 50013],
    ['by one who may not manage roles', { id: '101', allow: String(P.SEND_MESSAGES) }, plain, 50013],
    ['by the owner', { id: '101', allow: String(ALL_PERMISSIONS) }, owner, undefined],
  ])('answer %s', (_what, draft, by, code) => {
    expect(set(arrange(), '52', draft, by).code).toBe(code);
  });

  it('cannot be deleted by an unknown id', () => {
    expect(run(arrange(), 'deleteOverwrite', { channelId: '52', overwriteId: '101' }, owner).code).toBe(
      10009,
    );
  });

  it('do not allow a member without the bit to lift its denial', () => {
    const guild = arrange();
    guild.channels.set('52' as ChannelId, channel('52', [overwrite('101', 0, { deny: P.CONNECT })]));
    expect(run(guild, 'deleteOverwrite', { channelId: '52', overwriteId: '101' }, builder).code).toBe(50013);
  });

  it('may set bits that the caller lacks if one overwrite allows the caller MANAGE_ROLES', () => {
    const guild = arrange();
    guild.channels.set('52' as ChannelId, channel('52', [overwrite('11', 1, { allow: P.MANAGE_ROLES })]));
    expect(set(guild, '52', { id: '101', allow: String(P.MANAGE_MESSAGES) }, plain).code).toBeUndefined();
  });

  it('show and hide a channel for exactly the members whose view they change', () => {
    const guild = arrange();
    subscribe(guild, '2', '10', '11');
    const hidden = set(guild, '52', { id: GUILD_ID, deny: String(P.VIEW_CHANNEL) }, owner).dispatches;
    const opened = set(guild, '52', { id: '11', type: 1, allow: String(P.VIEW_CHANNEL) }, owner).dispatches;
    expect(hidden.slice(0, -1).map(({ t, to }) => [t, to])).toEqual([
      ['CHANNEL_DELETE', { kind: 'users', userIds: ['10', '11'] }],
      ['CHANNEL_UPDATE', { kind: 'users', userIds: ['2'] }],
    ]);
    expect(opened.slice(0, -1).map(({ t, to }) => [t, to])).toEqual([
      ['CHANNEL_CREATE', { kind: 'users', userIds: ['11'] }],
      ['CHANNEL_UPDATE', { kind: 'users', userIds: ['2'] }],
    ]);
  });

  it('show and hide the channel for the same members as a simple model, for any overwrites', () => {
    const bits = fc.constantFrom('0', String(P.VIEW_CHANNEL));
    const list = fc.uniqueArray(
      fc.record({
        id: fc.constantFrom(GUILD_ID as string, '100', '101', '11', '10'),
        allow: bits,
        deny: bits,
      }),
      { selector: ({ id }) => id },
    );
    fc.assert(
      fc.property(list, list, (before, after) => {
        const guild = arrange();
        subscribe(guild, '2', '10', '11');
        update(guild, '52', { permission_overwrites: before });
        const sees = () =>
          ['2', '10', '11'].filter(
            (userId) =>
              (channelPermissions(guild, userId as UserId, at(guild, '52'), NOW_MS) & P.VIEW_CHANNEL) !== 0n,
          );
        const had = sees();
        const { dispatches } = update(guild, '52', { permission_overwrites: after });
        const has = sees();
        const told = (t: string) =>
          dispatches
            .filter((each) => each.t === t)
            .flatMap(({ to }) => (to.kind === 'users' ? to.userIds : []));
        expect(told('CHANNEL_CREATE')).toEqual(has.filter((userId) => !had.includes(userId)));
        expect(told('CHANNEL_DELETE')).toEqual(had.filter((userId) => !has.includes(userId)));
      }),
    );
  });

  it('never change a bit that the caller lacks, for any request', () => {
    const bits = fc.bigInt({ min: 0n, max: ALL_PERMISSIONS }).map(String);
    const draft = fc.record({
      id: fc.constantFrom(GUILD_ID as string, '100', '101', '10', '11'),
      allow: bits,
      deny: bits,
    });
    const command = fc.oneof(
      draft.map((each) => ['setOverwrite', { channelId: '52', overwrite: each }] as const),
      draft.map(({ id }) => ['deleteOverwrite', { channelId: '52', overwriteId: id }] as const),
      fc
        .array(draft, { maxLength: 3 })
        .map(
          (list) => ['updateChannel', { channelId: '52', draft: { permission_overwrites: list } }] as const,
        ),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 6 }), bits, (commands, own) => {
        const guild = arrange();
        guild.roles.set('100' as never, role('100', BigInt(own) & ~P.ADMINISTRATOR, 2));
        const held = guildPermissions(guild, '10' as UserId, NOW_MS);
        for (const [name, input] of commands) {
          const before = at(guild, '52').permission_overwrites ?? [];
          run(guild, name, input, builder);
          const after = at(guild, '52').permission_overwrites ?? [];
          for (const each of [...before, ...after]) {
            const was = before.find(({ id }) => id === each.id);
            const is = after.find(({ id }) => id === each.id);
            const changed =
              (BigInt(was?.allow ?? 0) ^ BigInt(is?.allow ?? 0)) |
              (BigInt(was?.deny ?? 0) ^ BigInt(is?.deny ?? 0));
            expect(changed & ~held).toBe(0n);
          }
        }
      }),
    );
  });
});

describe('moving channels', () => {
  const move = (guild: Guild, moves: readonly object[], by: By = builder) =>
    run(guild, 'moveChannels', { moves }, by);

  it('sets positions, and one category', () => {
    const guild = arrange();
    const moves = [
      { id: '52', position: 3, parentId: '50', lockPermissions: true },
      { id: '51', position: 1 },
      { id: '53', position: 0 },
    ];
    const { types } = move(guild, moves, owner);
    expect(at(guild, '52')).toMatchObject({ position: 3, parent_id: '50' });
    expect(at(guild, '52').permission_overwrites).toEqual(at(guild, '50').permission_overwrites);
    expect(at(guild, '51').position).toBe(1);
    expect(types.filter((type) => type === 'channelUpdated')).toHaveLength(2);
  });

  it.each<[string, readonly object[], By, number | undefined]>([
    ['an unknown channel', [{ id: '99', position: 1 }], owner, 10003],
    [
      'two into categories',
      [
        { id: '52', parentId: '50' },
        { id: '51', parentId: null },
      ],
      owner,
      40009,
    ],
    ['one removed from its category', [{ id: '51', parentId: null }], builder, undefined],
    ['one by a member without permission', [{ id: '52', position: 4 }], plain, 50013],
    ['no channel by any member', [{ id: '52', position: 1 }], plain, undefined],
    ['a category into a category', [{ id: '50', parentId: '50' }], owner, 50035],
    ['into a channel that is no category', [{ id: '52', parentId: '53' }], owner, 50035],
  ])('answers a move of %s', (_what, moves, by, code) => {
    expect(move(arrange(), moves, by).code).toBe(code);
  });

  it('requires MANAGE_CHANNELS in the category too', () => {
    const guild = arrange();
    const closed = [overwrite('100', 0, { deny: P.MANAGE_CHANNELS })];
    guild.channels.set('50' as ChannelId, channel('50', closed, { type: 4 }));
    expect(move(guild, [{ id: '52', parentId: '50' }]).code).toBe(50013);
    expect(update(guild, '52', { parent_id: '50' as ChannelId }, builder).code).toBe(50013);
  });
});

it('lists channels visible to the caller, by position and then by id', () => {
  const guild = arrange();
  guild.channels.set('9' as ChannelId, channel('9', [overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL })]));
  const listed = (by: By) => {
    const { outcome } = run<GuildChannel[]>(guild, 'listChannels', {}, by);
    return outcome.ok ? outcome.value.map((each) => each.id) : null;
  };
  // A voice channel without CONNECT is still in the list.
  expect(listed(plain)).toEqual(['50', '51', '53', '52']);
  expect(listed(owner)).toEqual(['9', '50', '51', '53', '52']);
});
