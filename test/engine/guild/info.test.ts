/** Goal: a guild is founded whole, changed by the rules, and shown to a session no further than it may see. */
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import { newGuild } from '../../../engine/guild/founding.ts';
import type { Guild, GuildInfo } from '../../../engine/guild/guild.ts';
import { type GuildDraft, info } from '../../../engine/guild/info.ts';
import { guildCreatePayload, guildObject } from '../../../engine/guild/payloads.ts';
import type { ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import { ALL_PERMISSIONS, DEFAULT_EVERYONE, P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, OWNER_ID, overwrite, role, user } from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(info, audit);
const owner = caller('2', { reason: 'a new coat' });
const steward = caller('10');

const founded = () =>
  newGuild({
    id: GUILD_ID,
    name: 'Wayfarers',
    ownerId: OWNER_ID,
    ownerUser: user(OWNER_ID),
    nowMs: NOW_MS,
    nextId: envAt().nextId,
  });

/** As founded, with user 10 who manages the guild and is no administrator. */
function arrange(more: Partial<GuildInfo> = {}): Guild {
  const guild = buildGuild({});
  const fact = founded();
  info.facts.guildCreated.apply(guild, fact);
  guild.roles.set('100' as never, role('100', P.MANAGE_GUILD, 1));
  guild.members.set('10' as UserId, fullMember('10', ['100']));
  guild.memberCount = 2;
  guild.info = { ...guild.info, ...more };
  return guild;
}

const update = (guild: Guild, draft: GuildDraft, by = owner) => run(guild, 'updateGuild', { draft }, by);
const idOf = (guild: Guild, type: number) =>
  [...guild.channels.values()].find((each) => (each.type as number) === type)!.id;

describe('founding', () => {
  it('creates @everyone, the owner and two channels, each in its category', () => {
    const fact = founded();
    expect(fact.roles).toMatchObject([
      { id: GUILD_ID, name: '@everyone', permissions: String(DEFAULT_EVERYONE) },
    ]);
    expect(fact.owner).toMatchObject({
      user: { id: OWNER_ID },
      roles: [],
      joined_at: '2026-03-01T12:00:00.000000+00:00',
    });
    const [texts, text, voices, voice] = fact.channels;
    expect(fact.channels.map(({ type, name, position }) => [type, name, position])).toEqual([
      [4, 'Text Channels', 0],
      [0, 'general', 0],
      [4, 'Voice Channels', 1],
      [2, 'General', 0],
    ]);
    expect([text?.parent_id, voice?.parent_id]).toEqual([texts?.id, voices?.id]);
    expect(voice).toMatchObject({ bitrate: 64_000, flags: 0 });
    expect(fact.info).toMatchObject({ id: GUILD_ID, owner_id: OWNER_ID, system_channel_id: text?.id });
    expect(new Set(fact.channels.map(({ id }) => id)).size).toBe(4);
  });
});

describe('changing a guild', () => {
  it('sets and resets fields, and logs changes with the reason', () => {
    const guild = arrange({ description: 'old', afk_timeout: 60 });
    const { dispatches } = update(guild, {
      name: 'Settlers',
      description: null,
      afk_timeout: null,
      icon: 'ab',
    });
    expect(guild.info).toMatchObject({ name: 'Settlers', description: null, afk_timeout: 300, icon: 'ab' });
    expect(dispatches.map(({ t }) => t)).toEqual(['GUILD_UPDATE', 'GUILD_AUDIT_LOG_ENTRY_CREATE']);
    expect(dispatches[0]?.d).toMatchObject({
      name: 'Settlers',
      roles: [{ id: GUILD_ID }, { id: '100' }],
      emojis: [],
    });
    expect(dispatches[1]?.d).toMatchObject({
      action_type: 1,
      target_id: GUILD_ID,
      reason: 'a new coat',
      changes: [
        { key: 'name', old_value: 'Wayfarers', new_value: 'Settlers' },
        { key: 'description', old_value: 'old' },
        { key: 'icon_hash', new_value: 'ab' },
        { key: 'afk_timeout', old_value: 60, new_value: 300 },
      ],
    });
  });

  it('dispatches nothing when nothing changes', () => {
    expect(update(arrange(), { name: 'Wayfarers', features: [] }).facts).toEqual([]);
  });

  it('accepts only channels of the guild with the right type', () => {
    const guild = arrange();
    const [text, voice] = [idOf(guild, 0), idOf(guild, 2)];
    expect(update(guild, { afk_channel_id: voice, system_channel_id: text }).code).toBeUndefined();
    expect(update(guild, { afk_channel_id: text }).code).toBe(50024);
    expect(update(guild, { system_channel_id: voice }).code).toBe(50024);
    expect(update(guild, { rules_channel_id: voice }).code).toBe(50086);
    expect(update(guild, { system_channel_id: '99' as ChannelId }).code).toBe(10003);
    expect(update(guild, { afk_channel_id: null }).code).toBeUndefined();
    expect(guild.info.afk_channel_id).toBeNull();
  });

  it('changes only editable features, and only with permission', () => {
    const guild = arrange();
    const text = idOf(guild, 0);
    const rooms = { rules_channel_id: text, public_updates_channel_id: text };
    expect(update(guild, { features: ['COMMUNITY'], ...rooms }, steward).code).toBe(50013);
    expect(update(guild, { features: ['COMMUNITY'] }).code).toBe(50035);
    expect(update(guild, { features: ['COMMUNITY'], ...rooms }).code).toBeUndefined();
    expect(update(guild, { rules_channel_id: null }).code).toBe(50035);
    expect(
      update(guild, { features: ['COMMUNITY', 'INVITES_DISABLED', 'PARTNERED'] }, steward).code,
    ).toBeUndefined();
    expect(guild.info.features).toEqual([...arrange().info.features, 'COMMUNITY', 'INVITES_DISABLED']);
  });

  it('accepts an image only if the guild has the feature', () => {
    const guild = arrange({ features: ['BANNER'] });
    update(guild, { banner: 'b', splash: 's', discovery_splash: 'd' });
    expect(guild.info).toMatchObject({ banner: 'b', splash: null, discovery_splash: null });
  });
});

describe('reading a guild', () => {
  it('includes counts only on request', () => {
    const guild = arrange();
    guild.presences.set('10' as UserId, { user: { id: '10' }, status: 'online' } as never);
    const shown = (withCounts: boolean) => run(guild, 'getGuild', { withCounts }, owner).outcome;
    expect(shown(true)).toMatchObject({
      value: { approximate_member_count: 2, approximate_presence_count: 1 },
    });
    expect(shown(false)).not.toHaveProperty('value.approximate_member_count');
    expect(run(guild, 'previewGuild', {}, owner).outcome).toMatchObject({
      value: { id: GUILD_ID, approximate_member_count: 2, emojis: [] },
    });
  });

  it('returns permissions in the guild list, ignoring time-outs', () => {
    const guild = arrange();
    const mine = (by: typeof owner) => run(guild, 'myGuild', { withCounts: false }, by).outcome;
    const until = { communication_disabled_until: '2999-01-01T00:00:00.000Z' };
    guild.members.set('10' as UserId, { ...guild.members.get('10' as UserId)!, ...until });
    expect(mine(steward)).toEqual({
      ok: true,
      facts: [],
      value: {
        id: GUILD_ID,
        name: 'Wayfarers',
        icon: null,
        banner: null,
        owner: false,
        permissions: String(DEFAULT_EVERYONE | P.MANAGE_GUILD),
        features: guild.info.features,
      },
    });
    expect(mine(owner)).toMatchObject({ value: { owner: true, permissions: String(ALL_PERMISSIONS) } });
    const counted = run(guild, 'myGuild', { withCounts: true }, steward).outcome;
    expect(counted).toMatchObject({ value: { approximate_member_count: 2 } });
  });

  it('returns a copy that later changes do not affect', () => {
    const guild = arrange();
    const before = guildObject(guild);
    update(guild, { name: 'Settlers' });
    guild.roles.clear();
    expect(before).toMatchObject({ name: 'Wayfarers', roles: { length: 2 } });
  });

  it('allows only the owner or the operator to delete the guild', () => {
    const end = (by: typeof owner) => run(arrange(), 'deleteGuild', { memberIds: [OWNER_ID] }, by);
    expect(end(steward).code).toBe(50013);
    const may = (by: typeof owner) => run(arrange(), 'authorizeDeletion', {}, by).code;
    expect([may(steward), may(owner), may(caller('0', { system: true }))]).toEqual([
      50013,
      undefined,
      undefined,
    ]);
    expect(end(caller('0', { system: true })).types).toEqual(['guildDeleted']);
    expect(end(owner).dispatches).toEqual([
      { t: 'GUILD_DELETE', d: { id: GUILD_ID }, to: { kind: 'guild' } },
    ]);
  });
});

describe('GUILD_CREATE', () => {
  /** Bot 20 looks; 21 is online, 22 has a role, 23 a nick, 24 is in voice, 25 has none of it. */
  function crowd(memberCount: number): Guild {
    const bot = fullMember('20');
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      members: [
        { ...bot, user: { ...bot.user, bot: true } },
        fullMember('21'),
        fullMember('22', ['100']),
        fullMember('23', [], { nick: 'three' }),
        fullMember('24'),
        fullMember('25'),
      ],
      channels: [
        channel('50', [], { type: 2 }),
        channel('51', [overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL })], { type: 2 }),
      ],
    });
    guild.memberCount = memberCount;
    guild.members.set('26' as UserId, null);
    guild.presences.set('21' as UserId, { user: { id: '21' }, status: 'idle' } as never);
    guild.voiceStates.set('24' as UserId, { user_id: '24', channel_id: '50' } as never);
    guild.voiceStates.set('2' as UserId, { user_id: '2', channel_id: '51' } as never);
    return guild;
  }
  const shown = (memberCount: number, intents: number, userId = '20') =>
    guildCreatePayload(crowd(memberCount), userId as UserId, 50, intents, NOW_MS);
  const ids = (payload: ReturnType<typeof shown>) =>
    payload.members.map((each) => each.user?.id).sort((a, b) => Number(a) - Number(b));

  it.each<[string, number, number, string[]]>([
    ['without presences: itself and those in voice', 7, INTENTS.GUILDS, ['2', '20', '24']],
    ['with presences, small: all', 7, INTENTS.GUILD_PRESENCES, ['2', '20', '21', '22', '23', '24', '25']],
    [
      'with presences, large: those of note',
      51,
      INTENTS.GUILD_PRESENCES,
      ['2', '20', '21', '22', '23', '24'],
    ],
    [
      'with presences, nearly huge: those of note',
      75_000,
      INTENTS.GUILD_PRESENCES,
      ['2', '20', '21', '22', '23', '24'],
    ],
    ['with presences, huge: itself and those in voice', 75_001, INTENTS.GUILD_PRESENCES, ['2', '20', '24']],
  ])('contains members %s', (_what, memberCount, intents, members) => {
    expect(ids(shown(memberCount, intents))).toEqual(members);
  });

  it('contains presences for bots with the intent alone, in a huge guild those of members in voice', () => {
    const guild = crowd(75_001);
    guild.presences.set('20' as UserId, { user: { id: '20' }, status: 'online' } as never);
    guild.presences.set('24' as UserId, { user: { id: '24' }, status: 'dnd' } as never);
    guild.voiceStates.set('23' as UserId, { user_id: '23', channel_id: null } as never);
    const presencesOf = (intents: number) =>
      guildCreatePayload(guild, '20' as UserId, 50, intents, NOW_MS).presences.map(({ user }) => user.id);
    expect(presencesOf(INTENTS.GUILD_PRESENCES).sort()).toEqual(['20', '24']);
    expect(presencesOf(INTENTS.GUILDS)).toEqual([]);
    expect(ids(guildCreatePayload(guild, '20' as UserId, 50, INTENTS.GUILDS, NOW_MS))).toEqual([
      '2',
      '20',
      '24',
    ]);
  });

  it('contains for people in a large guild only what is near: themselves, members in voice, presences of their call', () => {
    expect(ids(shown(51, 0, '2'))).toEqual(['2', '24']);
    expect(shown(51, 0, '2').presences).toEqual([]);
    expect(shown(51, 0, '21').presences).toHaveLength(1);
    expect(ids(shown(50, 0, '2'))).toEqual(['2', '20', '21', '22', '23', '24', '25']);
    expect(shown(50, 0, '2').presences).toHaveLength(1);
  });

  it('contains for a person in a large guild the presences of the same call', () => {
    const guild = crowd(51);
    guild.presences.set('24' as UserId, { user: { id: '24' }, status: 'dnd' } as never);
    const presencesFor = (userId: string) =>
      guildCreatePayload(guild, userId as UserId, 50, 0, NOW_MS).presences.map(({ user }) => user.id);
    expect(presencesFor('21')).toEqual(['21']);
    guild.voiceStates.set('21' as UserId, { user_id: '21', channel_id: '50' } as never);
    expect(presencesFor('21').sort()).toEqual(['21', '24']);
  });

  it('contains only channels, voice states and presences that the session may view', () => {
    const gated = shown(51, INTENTS.GUILDS);
    expect(gated).toMatchObject({
      large: true,
      member_count: 51,
      unavailable: false,
      threads: [],
      presences: [],
    });
    expect(gated.channels.map(({ id }) => id)).toEqual(['50']);
    expect(gated.voice_states.map((state) => state.user_id)).toEqual(['24']);
    const owns = shown(7, 0, '2');
    expect(owns.channels.map(({ id }) => id)).toEqual(['50', '51']);
    // People's sessions have no intents to be gated by.
    expect(owns.presences).toHaveLength(1);
    // A huge guild shows even its owner only the user's own presence and the presences of users in voice.
    expect(shown(75_001, 0, '2').presences).toEqual([]);
    expect(shown(75_001, 0, '21').presences).toHaveLength(1);
    expect(owns).toMatchObject({
      large: false,
      joined_at: '2026-01-01T00:00:00.000000+00:00',
      id: GUILD_ID as GuildId,
    });
  });
});
