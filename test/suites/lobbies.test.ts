// Goal: what lobbies' facts say is what their store reads back, on every database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INITIAL_FIELDS, type Lobby, type LobbyMember, type LobbyMessage } from '../../engine/lobby/lobby.ts';
import {
  type ApplicationId,
  type ChannelId,
  type MessageId,
  snowflakeAt,
  type UserId,
} from '../../protocol/ids.ts';
import { channel, commit, id, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const APPLICATION = id<ApplicationId>('1001');
const DAY_MS = 86_400_000;

const lobby = (lobbyId: string, more: Partial<Lobby> = {}): Lobby => ({
  id: id<ChannelId>(lobbyId),
  application_id: APPLICATION,
  ...INITIAL_FIELDS,
  metadata: { map: 'dunes', __proto__x: 'y' },
  by_secret: true,
  idle_since_ms: 1_000,
  linked: null,
  ...more,
});
const member = (userId: string, joined_ms: number, more: Partial<LobbyMember> = {}): LobbyMember => ({
  user: user(userId),
  metadata: null,
  flags: 0,
  additional_name: null,
  joined_ms,
  ...more,
});
const message = (lobbyId: string, messageId: string, more: Partial<LobbyMessage> = {}): LobbyMessage => ({
  id: id<MessageId>(messageId),
  channel_id: id<ChannelId>(lobbyId),
  type: 0,
  content: `text ${messageId}`,
  author: user('11'),
  flags: 0,
  application_id: APPLICATION,
  timestamp: 'then',
  edited_timestamp: null,
  ...more,
});
const link = (channelId: string) => ({
  guild_id: id<never>('1'),
  channel: channel(channelId),
  linked_by: id<UserId>('11'),
  linked_at: 'then',
});

describe.each(databases())('lobbies on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.lobbies;
  const write = (owner: string, ...facts: Parameters<typeof commit>[2][]) =>
    commit(fresh.storage.writer, owner, ...facts);
  const create = (lobbyId: string, more: Partial<Lobby> = {}) =>
    write(lobbyId, { type: 'lobbyCreated', lobby: lobby(lobbyId, more) });
  const enter = (lobbyId: string, ...members: readonly LobbyMember[]) =>
    write(
      lobbyId,
      ...members.map((each) => ({
        type: 'lobbyMemberAdded' as const,
        lobbyId: id<ChannelId>(lobbyId),
        applicationId: APPLICATION,
        member: each,
        sessions: [],
      })),
    );
  const secret = (lobbyId: string, hash: string, nowMs = 0, expiresMs = 100) => ({
    type: 'lobbySecretKept' as const,
    applicationId: APPLICATION,
    hash,
    lobbyId: id<ChannelId>(lobbyId),
    nowMs,
    expiresMs,
  });
  const found = async (hash: string, nowMs: number) =>
    (await store().bySecret([{ applicationId: APPLICATION, hash }], nowMs))[0]?.lobbyId;

  beforeAll(async () => {
    fresh = await openFresh(kind);
    for (const userId of ['11', '12', '13']) await write(userId, { type: 'userCreated', user: user(userId) });
  });
  afterAll(() => fresh.close());

  test('a lobby is loaded completely, with its current members in the order of joining', async () => {
    await create('100');
    await enter('100', member('12', 2, { metadata: { a: '1' }, flags: 1 }), member('11', 1), member('99', 3));
    await write('12', { type: 'userUpdated', user: { ...user('12'), global_name: 'renamed' } });
    await write('100', {
      type: 'lobbyMemberUpdated',
      lobbyId: id('100'),
      member: member('11', 1, { additional_name: 'Rook' }),
    });
    await write('100', { type: 'lobbyUpdated', lobby: lobby('100', { flags: 1 }) });
    expect(await store().load(id('100'))).toEqual({
      lobby: lobby('100', { flags: 1 }),
      members: [
        member('11', 1, { additional_name: 'Rook' }),
        {
          ...member('12', 2, { metadata: { a: '1' }, flags: 1 }),
          user: { ...user('12'), global_name: 'renamed' },
        },
      ],
      voiceStates: [],
    });
    expect(await store().load(id('101'))).toBeNull();
  });

  test('a lobby is loaded with the last voice states of its members, which end with it', async () => {
    const inCall = (userId: string, self_mute: boolean, channel_id: string | null = '105') => ({
      ...{ channel_id, lobby_id: '105', user_id: userId, session_id: `s${userId}`, deaf: false, mute: false },
      ...{
        self_deaf: false,
        self_mute,
        self_video: false,
        suppress: false,
        request_to_speak_timestamp: null,
      },
    });
    const change = (voiceState: ReturnType<typeof inCall>) =>
      write('105', {
        type: 'lobbyVoiceChanged',
        userId: voiceState.user_id,
        voiceState,
        turn: null,
      } as never);
    const shown = async () => (await store().load(id('105')))?.voiceStates;
    await create('105');
    await enter('105', member('11', 1), member('12', 2));
    for (const state of [inCall('11', false), inCall('12', false), inCall('11', true)]) await change(state);
    expect(await shown()).toEqual([inCall('11', true), inCall('12', false)]);
    await change(inCall('12', false, null));
    expect(await shown()).toEqual([inCall('11', true)]);
    const end = () =>
      write('105', { type: 'lobbyDeleted', lobby: lobby('105'), memberIds: [id('11'), id('12')] });
    await end();
    await create('105');
    await enter('105', member('11', 1));
    expect(await shown()).toEqual([]);
    await end();
  });

  test('the lobbies of a user are listed separately for each application', async () => {
    await create('110');
    await create('111');
    await enter('111', member('13', 1));
    await enter('110', member('13', 2));
    expect(await store().ofUser(id('13'), APPLICATION)).toEqual(['110', '111']);
    expect(await store().ofUser(id('13'), id('5'))).toEqual([]);
    expect(await store().all(id('13'))).toEqual(['110', '111']);
    const [first, ...more] = await store().ofApplication(APPLICATION, null, 100);
    expect([first, ...more]).toEqual(expect.arrayContaining(['110', '111']));
    expect(await store().ofApplication(APPLICATION, first ?? null, 100)).toEqual(more);
    expect(await store().ofApplication(APPLICATION, null, 1)).toEqual([first]);
    expect(await store().ofApplication(id('5'), null, 100)).toEqual([]);
    const persons = await store().persons(
      ['13', '404', '11'].map((userId) => ({ userId: id<UserId>(userId), applicationId: APPLICATION })),
    );
    expect(persons.map(({ user: each, lobbies }) => [each.id, lobbies]).sort()).toEqual([
      ['11', 1],
      ['13', 2],
    ]);
    await write('111', {
      type: 'lobbyMemberRemoved',
      lobbyId: id('111'),
      applicationId: APPLICATION,
      member: member('13', 1),
      sessions: [],
    });
    expect(await store().all(id('13'))).toEqual(['110']);
  });

  test('a secret names one lobby until it expires; a second lobby with it fails without leaving rows', async () => {
    await write('120', { type: 'lobbyCreated', lobby: lobby('120') }, secret('120', 'aa'));
    expect([await found('aa', 99), await found('aa', 100), await found('bb', 0)]).toEqual([
      '120',
      undefined,
      undefined,
    ]);
    const second = write('121', { type: 'lobbyCreated', lobby: lobby('121') }, secret('121', 'aa', 50, 150));
    await expect(second).rejects.toThrow('refused');
    expect(await store().load(id('121'))).toBeNull();
    await write('122', { type: 'lobbyCreated', lobby: lobby('122') }, secret('122', 'aa', 100, 200));
    expect(await found('aa', 100)).toBe('122');
  });

  test('a deleted lobby deletes its secret, members, link and messages', async () => {
    await write('130', { type: 'lobbyCreated', lobby: lobby('130') }, secret('130', 'cc'));
    await enter('130', member('12', 1));
    const linked = lobby('130', { linked: link('500') });
    await write('130', { type: 'lobbyLinked', lobby: linked, link: link('500') });
    await write('130', { type: 'lobbyMessageCreated', message: message('130', '9001'), metadata: null });
    expect(await store().linkedTo(id('500'))).toBe('130');
    await write('130', { type: 'lobbyDeleted', lobby: linked, memberIds: [id('12')] });
    expect(await store().load(id('130'))).toBeNull();
    expect(await store().linkedTo(id('500'))).toBeNull();
    expect(await found('cc', 0)).toBeUndefined();
    expect(await store().all(id('12'))).not.toContain('130');
    await fresh.storage.purge.settled();
    expect(await store().messages(id('130'), id('0'), 10)).toEqual([]);
  });

  test('a channel is linked to at most one lobby', async () => {
    await create('140');
    await create('141');
    await write('140', {
      type: 'lobbyLinked',
      lobby: lobby('140', { linked: link('501') }),
      link: link('501'),
    });
    const other = {
      type: 'lobbyLinked' as const,
      lobby: lobby('141', { linked: link('501') }),
      link: link('501'),
    };
    await expect(write('141', other)).rejects.toThrow('refused');
    await write('140', { type: 'lobbyUnlinked', lobby: lobby('140'), link: link('501') });
    await write('141', other);
    expect(await store().linkedTo(id('501'))).toBe('141');
  });

  test('messages are listed newest first, without expired ones, in their last version', async () => {
    await create('150');
    for (const messageId of ['9001', '9003', '9002'])
      await write('150', {
        type: 'lobbyMessageCreated',
        message: message('150', messageId),
        metadata: { shown: 'once' },
      });
    const moderated = message('150', '9002', { moderation_metadata: { verdict: 'fine' } });
    await write('150', { type: 'lobbyMessageUpdated', message: moderated });
    expect(await store().messages(id('150'), id('9002'), 10)).toEqual([message('150', '9003'), moderated]);
    expect(await store().messages(id('150'), id('0'), 1)).toEqual([message('150', '9003')]);
    expect(await store().message(id('150'), id('9002'))).toEqual(moderated);
    expect(await store().message(id('150'), id('9009'))).toBeNull();
  });

  test('idle lobbies are due in order, and lobbies in use or linked are not', async () => {
    await fresh.driver.query('DELETE FROM lobbies');
    expect(await store().nextDueMs()).toBeNull();
    await create('160', { idle_since_ms: 2_000, idle_timeout_seconds: 10 });
    await create('161', { idle_since_ms: 1_000, idle_timeout_seconds: 10 });
    await create('162', { idle_since_ms: null });
    await create('163', { idle_since_ms: 0, linked: link('502') });
    await create('164', { idle_since_ms: null });
    expect(await store().nextDueMs()).toBe(11_000);
    expect(await store().due(12_000, 10)).toEqual(['161', '160']);
    expect(await store().due(11_999, 10)).toEqual(['161']);
    expect(await store().due(12_000, 1)).toEqual(['161']);
    expect(await store().inUse(null, 10)).toEqual(['162', '164']);
    expect(await store().inUse(id('162'), 10)).toEqual(['164']);
    await write('161', { type: 'lobbySettled', lobby: lobby('161', { idle_since_ms: null }) });
    expect(await store().nextDueMs()).toBe(12_000);
  });

  test('old messages and secrets are swept a bounded number at a time', async () => {
    await fresh.driver.query('DELETE FROM lobbies');
    const nowMs = Date.UTC(2026, 0, 10);
    const at = (ms: number, more = 0): string => String(BigInt(snowflakeAt(ms)) + BigInt(more));
    for (const lobbyId of ['170', '171']) {
      await write(
        lobbyId,
        { type: 'lobbyCreated', lobby: lobby(lobbyId) },
        secret(lobbyId, lobbyId, 0, nowMs),
      );
      for (const [index, ageMs] of [4 * DAY_MS, 4 * DAY_MS, DAY_MS].entries())
        await write(lobbyId, {
          type: 'lobbyMessageCreated',
          message: message(lobbyId, at(nowMs - ageMs, index)),
          metadata: null,
        });
    }
    const beforeId = id<MessageId>(snowflakeAt(nowMs - 3 * DAY_MS));
    const sweep = (after: ChannelId | null, limit = 10) =>
      store().sweep({ after, lobbies: 1, limit, beforeId, nowMs });
    const left = async (lobbyId: string) => (await store().messages(id(lobbyId), id('0'), 10)).length;
    expect(await sweep(null, 1)).toEqual({ after: '0', lobbies: 1 });
    expect([await left('170'), await left('171')]).toEqual([2, 3]);
    expect(await sweep(id('0'))).toEqual({ after: '170', lobbies: 1 });
    expect(await sweep(id('170'))).toEqual({ after: '171', lobbies: 1 });
    expect(await sweep(id('171'))).toEqual({ after: null, lobbies: 0 });
    expect([await left('170'), await left('171')]).toEqual([1, 1]);
    await sweep(null);
    const secrets = await fresh.driver.query('SELECT hash FROM lobby_secrets WHERE expires_ms = $1', [nowMs]);
    expect(secrets).toEqual([]);
  });
});
