// Goal: what a guild's facts say is what its store reads back, on every database.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NO_EXPRESSIONS } from '../../engine/guild/expressions.ts';
import type { Member } from '../../engine/guild/guild.ts';
import type { ChannelId, GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import {
  application,
  channel,
  commit,
  created,
  entry,
  expressions,
  GUILD,
  id,
  info,
  invite,
  member,
  message,
  role,
  rule,
  seed,
  stage,
  user,
} from './builders.ts';
import { databases, openFresh } from './databases.ts';

const guildId = id<GuildId>(GUILD);
const ids = (...values: string[]) => values.map((value) => id<UserId>(value));

describe.each(databases())('guilds on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.guilds;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, GUILD, ...facts);

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());
  beforeEach(async () => {
    await fresh.driver.script(
      `DO $$ DECLARE t text; BEGIN FOR t IN SELECT table_name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_name <> 'schema_migrations' LOOP EXECUTE 'TRUNCATE ' || t; END LOOP; END $$`,
    );
    await seed(fresh.storage.writer);
  });

  test('a created guild is loaded whole, with its owner as a member', async () => {
    expect(await store().load(guildId)).toEqual({
      info: info(GUILD, '10'),
      roles: [role(GUILD)],
      channels: [
        channel('100', { last_message_id: null, last_pin_timestamp: null }),
        channel('101', { type: 4 }),
      ],
      threads: [],
      stageInstances: [],
      voiceStates: [],
      liveVoice: [],
      scheduledEvents: [],
      autoModerationRules: [],
      pages: {},
      expressions: NO_EXPRESSIONS,
      memberCount: 1,
    });
    expect(await store().members(guildId, ids('10', '11'))).toEqual([member(user('10'))]);
    expect(await fresh.storage.users.guildIds(id('10'))).toEqual([GUILD]);
    const { name } = info(GUILD, '10');
    expect(await fresh.storage.directory.guilds(null, 10)).toEqual([{ id: GUILD, name }]);
    expect(await store().load(id('9'))).toBeNull();
  });

  test('an update replaces the guild, its roles and its channels', async () => {
    await write(
      { type: 'guildUpdated', info: { ...info(GUILD, '11'), name: 'new' } },
      { type: 'roleCreated', role: role('50') },
      { type: 'roleUpdated', role: role('50', { name: 'renamed' }) },
      { type: 'channelUpdated', channel: channel('100', { name: 'first' }) },
      { type: 'channelUpdated', channel: channel('100', { name: 'second' }) },
    );
    const loaded = await store().load(guildId);
    expect(loaded?.info.name).toBe('new');
    expect(loaded?.roles.map(({ name }) => name)).toEqual(['renamed', `role ${GUILD}`]);
    expect(loaded?.channels[0]?.name).toBe('second');
  });

  test('a channel carries its newest message and pin, and an update does not rewrite them', async () => {
    await write(created(message('100', '1002')), created(message('100', '1001')));
    await write({ type: 'messagePinned', channelId: id('100'), messageId: id('1001'), pinnedMs: 86_400_000 });
    await write({
      type: 'channelUpdated',
      channel: channel('100', { last_message_id: '1', last_pin_timestamp: null }),
    });
    const loaded = await store().load(guildId);
    expect(loaded?.channels[0]).toMatchObject({
      last_message_id: '1002',
      last_pin_timestamp: '1970-01-02T00:00:00.000000+00:00',
    });
  });

  test('emoji, stickers and sounds are loaded with their guild, and found by their ids, until they are deleted', async () => {
    const { emoji, sticker, sound } = expressions;
    await write(
      { type: 'emojiWritten', emoji },
      { type: 'stickerWritten', sticker },
      { type: 'soundCreated', sound },
    );
    expect((await store().load(guildId))?.expressions).toEqual({
      emojis: [emoji],
      stickers: [sticker],
      sounds: [sound],
    });
    await write(
      { type: 'emojiDeleted', emojiId: emoji.id },
      { type: 'stickerDeleted', stickerId: sticker.id },
      { type: 'soundDeleted', soundId: sound.sound_id },
    );
    expect((await store().load(guildId))?.expressions).toEqual(NO_EXPRESSIONS);
  });

  test('a stage instance is loaded with its guild, as it was last, until it is deleted', async () => {
    await write(
      { type: 'stageInstanceCreated', stage: stage('101') },
      { type: 'stageInstanceCreated', stage: stage('100') },
      { type: 'stageInstanceUpdated', stage: stage('101', { topic: 'Songs' }) },
    );
    const loaded = async () => (await store().load(guildId))?.stageInstances;
    expect(await loaded()).toEqual([stage('100'), stage('101', { topic: 'Songs' })]);
    await write({ type: 'stageInstanceDeleted', stage: stage('101') });
    expect(await loaded()).toEqual([stage('100')]);
  });

  test('voice is loaded with its guild, without the members, until everybody has left', async () => {
    const state = (userId: UserId, channelId: ChannelId | null, more: object = {}) => ({
      ...{ guild_id: guildId, user_id: userId, channel_id: channelId, session_id: 's1', suppress: false },
      ...{ deaf: false, mute: false, self_deaf: false, self_mute: false, self_video: false },
      ...{ request_to_speak_timestamp: null, ...more },
    });
    const changed = (voiceState: ReturnType<typeof state>, member: Member | null = null) => ({
      ...{ type: 'voiceStateChanged' as const, userId: voiceState.user_id },
      voiceState: { ...voiceState, ...(member && { member }) },
    });
    const [lounge, stage1] = [id<ChannelId>('100'), id<ChannelId>('101')];
    const [a, b] = [id<UserId>('10'), id<UserId>('11')];
    await write(
      changed(state(a, lounge), member(user('10'))),
      { type: 'voiceStartChanged', channelId: lounge, startedMs: 1_700_000_000_000 },
      changed(state(b, lounge)),
      { type: 'voiceStatusChanged', channelId: lounge, status: 'away' },
      { type: 'voiceStatusChanged', channelId: stage1, status: 'soon' },
      changed(state(a, lounge, { self_mute: true }), member(user('10'))),
    );
    const loaded = async () => {
      const found = await store().load(guildId);
      return [found?.voiceStates, found?.liveVoice];
    };
    const inVoice = [{ id: guildId, sessionId: state(a, lounge).session_id }];
    expect(await store().inVoice(a, [guildId, id('1')])).toEqual(inVoice);
    expect([await store().inVoice(a, [id('1')]), await store().inVoice(id('12'), [guildId])]).toEqual([
      [],
      [],
    ]);
    const live = { status: 'away', startedMs: 1_700_000_000_000 };
    expect(await loaded()).toEqual([
      [state(a, lounge, { self_mute: true }), state(b, lounge)],
      [
        [lounge, live],
        [stage1, { status: 'soon', startedMs: null }],
      ],
    ]);
    await write({ type: 'voiceStatusChanged', channelId: stage1, status: null }, changed(state(a, null)), {
      type: 'streamLost',
      channelId: lounge,
      voiceState: state(b, lounge, { self_stream: false }),
      userIds: [b],
    });
    expect(await loaded()).toEqual([[state(b, lounge, { self_stream: false })], [[lounge, live]]]);
    await write({ type: 'voiceStatusChanged', channelId: lounge, status: null });
    expect((await loaded())[1]).toEqual([[lounge, { ...live, status: null }]]);
    await write(changed(state(b, null)), { type: 'voiceStartChanged', channelId: lounge, startedMs: null });
    expect(await loaded()).toEqual([[], []]);
    const rows = await fresh.driver.query(
      'SELECT user_id FROM voice_states UNION SELECT channel_id FROM voice_channels',
    );
    expect(rows).toEqual([]);
  });

  test('rules of auto moderation are loaded with their guild, as they were last, until they are deleted', async () => {
    await write(
      { type: 'autoModerationRuleCreated', rule: rule('701') },
      { type: 'autoModerationRuleCreated', rule: rule('700') },
      { type: 'autoModerationRuleUpdated', rule: rule('701', { name: 'other words' }) },
    );
    const loaded = async () => (await store().load(guildId))?.autoModerationRules;
    expect(await loaded()).toEqual([rule('700'), rule('701', { name: 'other words' })]);
    await write({ type: 'autoModerationRuleDeleted', rule: rule('701') });
    expect(await loaded()).toEqual([rule('700')]);
  });

  test('a deleted channel is deleted with its invites, its messages and its directory entry', async () => {
    await write(created(message('100', '1001')), { type: 'inviteCreated', invite: invite('abc', '100') });
    await write({
      type: 'reactionAdded',
      channelId: id('100'),
      messageId: id('1001'),
      userId: id('10'),
      messageAuthorId: id('10'),
      emoji: { id: null, name: 'x' },
      key: 'x',
      atMs: 1,
    });
    expect(await fresh.storage.directory.channelOwner(id('100'))).toEqual({ guildId });
    await write({ type: 'channelDeleted', channel: channel('100') });
    expect(await fresh.storage.messages.authoredSince(GUILD, id('10'), id('0'), 10)).toEqual([]);
    await fresh.storage.purge.settled();
    expect((await store().load(guildId))?.channels.map((each) => each.id)).toEqual(['101']);
    expect(await fresh.storage.directory.channelOwner(id('100'))).toBeNull();
    expect(await fresh.storage.directory.inviteGuild('abc')).toBeNull();
    for (const table of ['messages', 'reactions', 'reaction_counts', 'purges', 'channel_activity', 'invites'])
      expect(await fresh.driver.query(`SELECT * FROM ${table}`), table).toEqual([]);
  });

  test('a deleted guild leaves nothing behind', async () => {
    await write(
      created(message('100', '1001')),
      { type: 'inviteCreated', invite: invite('abc', '100') },
      { type: 'banAdded', ban: { user: user('11'), reason: null } },
      { type: 'auditLogged', entry: entry('900') },
      { type: 'stageInstanceCreated', stage: stage('100') },
      { type: 'autoModerationRuleCreated', rule: rule('700') },
    );
    await write({ type: 'guildDeleted', memberIds: [] });
    await fresh.storage.purge.settled();
    const tables = await fresh.driver.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_name NOT IN ('schema_migrations', 'users', 'usernames', 'writer_transactions')",
    );
    expect(tables.length).toBeGreaterThan(15);
    for (const { name } of tables)
      expect(await fresh.driver.query(`SELECT * FROM ${name}`), name).toEqual([]);
  });

  test('a deleted role is removed from members and overwrites, and the others keep their order', async () => {
    const kept = { id: '52', type: 0, allow: '1', deny: '0' };
    await write(
      { type: 'memberAdded', member: member(user('11'), { roles: ['53', '50', '52', '51'] }) },
      { type: 'memberAdded', member: member(user('12'), { roles: ['52'] }) },
      {
        type: 'channelUpdated',
        channel: channel('100', {
          permission_overwrites: [
            { id: '50', type: 0, allow: '0', deny: '0' },
            kept,
            { id: '51', type: 0, allow: '0', deny: '0' },
          ],
        }),
      },
      {
        type: 'channelUpdated',
        channel: channel('101', {
          type: 4,
          permission_overwrites: [{ id: '51', type: 0, allow: '0', deny: '0' }],
        }),
      },
    );
    await write({ type: 'roleDeleted', roleId: id('50') }, { type: 'roleDeleted', roleId: id('51') });
    const found = await store().members(guildId, ids('11', '12'));
    expect(found.map(({ roles }) => roles).sort()).toEqual([['52'], ['53', '52']]);
    const loaded = await store().load(guildId);
    expect(
      loaded?.channels.map((each) => 'permission_overwrites' in each && each.permission_overwrites),
    ).toEqual([[kept], []]);
    expect(await store().roleMemberCounts(guildId)).toEqual(
      new Map([
        [id<RoleId>('52'), 2],
        [id<RoleId>('53'), 1],
      ]),
    );
  });

  test('a member contains the current user, and not the user at the time of joining', async () => {
    await write({ type: 'memberAdded', member: member(user('11', { username: 'stale' }), { nick: 'Nick' }) });
    await commit(fresh.storage.writer, '11', {
      type: 'userUpdated',
      user: user('11', { username: 'renamed' }),
    });
    const [found] = await store().members(guildId, ids('11'));
    expect(found).toEqual(member(user('11', { username: 'renamed' }), { nick: 'Nick' }));
  });

  test('the last of several writes of one member in a group wins', async () => {
    const facts = ['a', 'b', 'c'].map((nick) => ({
      type: 'memberUpdated' as const,
      member: member(user('10'), { nick }),
    }));
    await write(...facts);
    expect((await store().members(guildId, ids('10')))[0]?.nick).toBe('c');
    await write(
      { type: 'memberRemoved', user: user('10') },
      { type: 'memberAdded', member: member(user('10'), { nick: 'back' }) },
      { type: 'memberRemoved', user: user('10') },
    );
    expect(await store().members(guildId, ids('10'))).toEqual([]);
    expect(await fresh.storage.users.guildIds(id('10'))).toEqual([]);
  });

  test('a member without a user is rejected with a fault', async () => {
    await expect(write({ type: 'memberAdded', member: member(user('99')) })).rejects.toThrow(
      'username_search',
    );
  });

  test('members are paged in ascending order', async () => {
    for (const userId of ['12', '11', '13'])
      await write({ type: 'memberAdded', member: member(user(userId)) });
    const page = async (after: UserId | null, limit: number) =>
      (await store().membersAfter(guildId, after, limit)).map((each) => each.user.id);
    expect(await page(null, 2)).toEqual(['10', '11']);
    expect(await page(id('11'), 10)).toEqual(['12', '13']);
    expect((await store().load(guildId))?.memberCount).toBe(4);
  });

  test('temporary memberships and owned guilds are listed for their user, until the membership ends', async () => {
    const users = fresh.storage.users;
    const temporary = { type: 'memberAdded', member: member(user('11')), temporary: true } as const;
    await write(temporary);
    await write({ type: 'memberAdded', member: member(user('12')) });
    // A batch in which the member changes as well keeps the mark.
    await write({ type: 'memberUpdated', member: member(user('11'), { nick: 'Guest' }) });
    expect(await users.temporaryGuilds(id('11'))).toEqual([
      { guildId, joinedAt: temporary.member.joined_at },
    ]);
    expect(await users.temporaryGuilds(id('12'))).toEqual([]);
    expect(await users.temporaryUsers(null, 10)).toEqual(['11']);
    expect(await users.temporaryUsers(id('11'), 10)).toEqual([]);
    expect([await users.ownedGuildCount(id('10')), await users.ownedGuildCount(id('11'))]).toEqual([1, 0]);
    await write({ type: 'memberRemoved', user: user('11') });
    expect(await users.temporaryGuilds(id('11'))).toEqual([]);
    await write({ type: 'memberAdded', member: member(user('11')) });
    expect(await users.temporaryGuilds(id('11'))).toEqual([]);
  });

  test('the prefix search reads nick, username and display name without regard to case', async () => {
    await commit(fresh.storage.writer, '11', { type: 'userUpdated', user: user('11', { username: 'Zoë' }) });
    await write(
      { type: 'memberAdded', member: member(user('11')) },
      { type: 'memberAdded', member: member(user('12'), { nick: 'ZOË the second' }) },
      { type: 'memberAdded', member: member(user('13'), { nick: '100%_x' }) },
    );
    await commit(fresh.storage.writer, '13', {
      type: 'userUpdated',
      user: user('13', { global_name: 'zoë III' }),
    });
    const search = async (prefix: string, limit = 10) =>
      (await store().membersByPrefix(guildId, prefix, limit)).map((each) => each.user.id);
    expect(await search('zOË')).toEqual(['11', '12', '13']);
    expect(await search('zoë', 2)).toEqual(['11', '12']);
    expect(await search('zoë i')).toEqual(['13']);
    expect(await search('oë')).toEqual([]);
    expect(await search('%')).toEqual([]);
    expect(await search('100%')).toEqual(['13']);
    expect(await search('')).toEqual(['10', '11', '12', '13']);
  });

  test('bans are paged in ascending order, from either side', async () => {
    for (const userId of ['11', '12', '13', '14'])
      await write({ type: 'banAdded', ban: { user: user(userId), reason: `r${userId}` } });
    await write({ type: 'banRemoved', user: user('13') });
    const page = async (of: Parameters<ReturnType<typeof store>['bans']>[1]) =>
      (await store().bans(guildId, of)).map((ban) => ban.user.id);
    expect(await page({ limit: 10 })).toEqual(['11', '12', '14']);
    expect(await page({ after: id('11'), limit: 1 })).toEqual(['12']);
    expect(await page({ before: id('14'), limit: 1 })).toEqual(['12']);
    expect(await store().bansOf(guildId, ids('12', '13'))).toEqual([{ user: user('12'), reason: 'r12' }]);
  });

  test('invites are listed by channel and age until they expire', async () => {
    const soon = invite('soon', '100', {
      created_at: '2026-01-02T00:00:00.000Z',
      expires_at: '2026-01-03T00:00:00.000Z',
    });
    await write(
      { type: 'inviteCreated', invite: soon },
      { type: 'inviteCreated', invite: invite('ever', '101') },
    );
    await write({ type: 'inviteUsed', invite: { ...soon, uses: 1 } });
    const expiryMs = Date.parse('2026-01-03T00:00:00.000Z');
    const codes = async (channelId: string | null, nowMs: number) =>
      (await store().invites(guildId, channelId === null ? null : id(channelId), nowMs)).map(
        ({ code }) => code,
      );
    expect(await codes(null, expiryMs - 1)).toEqual(['ever', 'soon']);
    expect(await codes('100', expiryMs - 1)).toEqual(['soon']);
    expect(await codes(null, expiryMs)).toEqual(['ever']);
    expect(await store().invitesByCode(guildId, ['soon', 'none'])).toEqual([{ ...soon, uses: 1 }]);
    expect(await fresh.storage.directory.inviteGuild('soon')).toBe(GUILD);
    await write({ type: 'inviteDeleted', code: 'soon', channelId: id('100') });
    expect(await fresh.storage.directory.inviteGuild('soon')).toBeNull();
    expect(await codes(null, 0)).toEqual(['ever']);
  });

  test('an invite code of one guild is not given to another', async () => {
    await write({ type: 'inviteCreated', invite: invite('abc', '100') });
    const stolen = commit(fresh.storage.writer, '8', { type: 'inviteCreated', invite: invite('abc', '7') });
    await expect(stolen).rejects.toThrow('invite_directory');
    expect(await fresh.storage.directory.inviteGuild('abc')).toBe(GUILD);
  });

  test('the audit log is filtered and paged: newest first, oldest first after an entry', async () => {
    await write(
      { type: 'auditLogged', entry: entry('900') },
      { type: 'auditLogged', entry: entry('901', { user_id: '12', action_type: 1 }) },
      { type: 'auditLogged', entry: entry('902', { target_id: null }) },
    );
    const read = async (filter: object) =>
      (await store().auditLog(guildId, { limit: 10, ...filter })).map((each) => each.id);
    expect(await read({})).toEqual(['902', '901', '900']);
    expect(await read({ limit: 1 })).toEqual(['902']);
    expect(await read({ before: '902' })).toEqual(['901', '900']);
    expect(await read({ after: '900' })).toEqual(['901', '902']);
    expect(await read({ userId: '12' })).toEqual(['901']);
    expect(await read({ targetId: '11' })).toEqual(['901', '900']);
    expect(await read({ actionType: 22, before: '902' })).toEqual(['900']);
  });

  test('users, tokens and applications are read back, applications without their secrets', async () => {
    const { users, applications, writer } = fresh.storage;
    const token = { id: '500', userId: id<UserId>('10'), kind: 'user' as const, hash: 'h' };
    await commit(
      writer,
      '10',
      { type: 'tokenIssued', token },
      { type: 'tokenIssued', token: { ...token, id: '501' } },
    );
    expect(await users.tokens([id('10')])).toEqual([token, { ...token, id: '501' }]);
    await commit(writer, '10', { type: 'tokenRevoked', tokenId: '500' });
    expect((await users.tokens([id('10')])).map((each) => each.id)).toEqual(['501']);
    expect((await users.list(id('13'), 10)).map((each) => each.id)).toEqual(['14', '15']);
    expect(await users.get(ids('11', '99'))).toEqual([user('11')]);
    const app = application('600', '15');
    await commit(writer, '600', {
      type: 'applicationCreated',
      application: app,
      signingKey: 'k',
      clientSecretHash: 's',
    });
    await commit(writer, '600', { type: 'applicationUpdated', application: { ...app, name: 'renamed' } });
    expect(await applications.get(id('600'))).toEqual({ ...app, name: 'renamed' });
    expect((await applications.byBot(id('15')))?.id).toBe('600');
    expect(await applications.byBot(id('14'))).toBeNull();
    expect(await applications.list()).toHaveLength(1);
    const [only] = await applications.page(null, 10);
    expect(await applications.page(only!.id, 10)).toEqual([]);
  });
});
