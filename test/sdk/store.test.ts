// Goal: gateway dispatches become the state that handles show, are reported once, and stay bounded.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AdditionalContentType,
  RelationshipGroupType,
  RelationshipType,
  StatusType,
} from '../../sdk/enums.ts';
import { createHandles } from '../../sdk/handles.ts';
import { adoptLobby } from '../../sdk/store/lobbies.ts';
import { adoptHistory, adoptMessage, historyAt } from '../../sdk/store/messages.ts';
import { byId, madeMs } from '../../sdk/store/read.ts';
import { reduce } from '../../sdk/store/reduce.ts';
import { emptyState, KEPT, type Notice } from '../../sdk/store/store.ts';
import { APPLICATION, LOBBY, ME, PEER, readyBody } from '../support/sdk.ts';

function opened(ready: object = {}) {
  const state = emptyState(() => APPLICATION);
  const handles = createHandles(state, 'http://cdn.test', () => null);
  const hear = (name: string, d: object): Notice[] => reduce(state, name, d as { [key: string]: unknown });
  hear('READY', readyBody(ready));
  return { state, handles, hear };
}

const user = (id: string, more: object = {}) => ({
  id,
  username: `user${id}`,
  global_name: null,
  avatar: null,
  flags: 0,
  ...more,
});
const member = (id: string, more: object = {}) => ({
  user: user(id),
  metadata: {},
  flags: 0,
  connected: true,
  ...more,
});
const lobby = (more: object = {}) => ({
  id: LOBBY,
  application_id: APPLICATION,
  metadata: { mode: 'duel' },
  members: [member(ME)],
  flags: 0,
  voice_states: [],
  ...more,
});
const NOW_MS = Date.UTC(2026, 2, 1, 12);
/** An id made this many milliseconds before `NOW_MS`. */
const idAt = (agoMs: number, index = 0): string =>
  String((BigInt(NOW_MS - agoMs - 1_420_070_400_000) << 22n) + BigInt(index));

describe('lobbies', () => {
  test('are read from READY; a later READY reports lobbies created and deleted meanwhile', () => {
    const { hear, handles } = opened({ lobbies: [lobby(), lobby({ id: '7002' })] });
    expect(handles.lobby(LOBBY)?.metadata).toEqual({ mode: 'duel' });
    const notices = hear('READY', readyBody({ lobbies: [lobby({ metadata: {} }), lobby({ id: '7003' })] }));
    expect(notices).toEqual([
      { type: 'lobbyDeleted', lobbyId: '7002' },
      { type: 'lobbyUpdated', lobbyId: LOBBY },
      { type: 'lobbyCreated', lobbyId: '7003' },
    ]);
  });

  test('are reported once, whether the REST answer or the gateway event arrives first', () => {
    const answer = { id: LOBBY, application_id: APPLICATION, metadata: {}, members: [{ id: ME, flags: 1 }] };
    const first = opened();
    expect(adoptLobby(first.state, answer).notices).toEqual([{ type: 'lobbyCreated', lobbyId: LOBBY }]);
    expect(first.hear('LOBBY_CREATE', lobby())).toEqual([]);
    const second = opened();
    expect(second.hear('LOBBY_CREATE', lobby())).toHaveLength(1);
    expect(adoptLobby(second.state, answer).notices).toEqual([]);
    expect(second.handles.lobby(LOBBY)?.metadata).toEqual({ mode: 'duel' });
    expect(adoptLobby(second.state, { id: 'x' }).id).toBeNull();
  });

  test('contain their members', () => {
    const { hear, handles } = opened({ lobbies: [lobby()] });
    const at = { lobby_id: LOBBY, application_id: APPLICATION };
    const joined = member(PEER, { flags: 1, additional_name: 'Red', metadata: { hp: '5' } });
    expect(hear('LOBBY_MEMBER_ADD', { ...at, member: joined })).toEqual([
      { type: 'lobbyMemberAdded', lobbyId: LOBBY, memberId: PEER },
    ]);
    const handle = handles.lobby(LOBBY)!.getLobbyMemberHandle(PEER)!;
    expect(handle).toMatchObject({ canLinkLobby: true, additionalName: 'Red', connected: true });
    expect(handle.user?.username).toBe(`user${PEER}`);
    hear('LOBBY_MEMBER_UPDATE', { ...at, member: { user: user(PEER), metadata: { hp: '4' } } });
    expect(handle.metadata).toEqual({ hp: '4' });
    expect(handle.additionalName).toBe('Red');
    hear('LOBBY_MEMBER_DISCONNECT', { ...at, member: { user: user(PEER) } });
    expect(handle.connected).toBe(false);
    expect(hear('LOBBY_MEMBER_REMOVE', { ...at, member: { user: user(PEER) } })).toEqual([
      { type: 'lobbyMemberRemoved', lobbyId: LOBBY, memberId: PEER },
    ]);
    expect(hear('LOBBY_MEMBER_REMOVE', { ...at, member: { user: user(PEER) } })).toEqual([]);
    expect(handles.lobby(LOBBY)!.lobbyMemberIds).toEqual([ME]);
    // A removed lobby keeps its last state.
    expect(handle.metadata).toEqual({ hp: '5' });
  });

  test('keep their members when a change comes without them', () => {
    const { hear, handles } = opened({ lobbies: [lobby()] });
    const before = handles.lobby(LOBBY)!.lobbyMemberIds;
    const { members: _members, ...alone } = lobby({ metadata: { map: 'dunes' } }) as Record<string, unknown>;
    expect(hear('GUILDHALL_LOBBY_UPDATE', alone)).toEqual([{ type: 'lobbyUpdated', lobbyId: LOBBY }]);
    expect(handles.lobby(LOBBY)).toMatchObject({ metadata: { map: 'dunes' }, lobbyMemberIds: before });
    expect(before.length).toBeGreaterThan(0);
    const member = { id: before[0], metadata: { hp: '1' }, flags: 0, connected: true };
    hear('GUILDHALL_LOBBY_MEMBER_UPDATE', { lobby_id: LOBBY, member });
    expect(handles.lobby(LOBBY)?.lobbyMembers[0]?.metadata).toEqual({ hp: '1' });
  });

  test('ignore a change of an unknown lobby', () => {
    const { hear, handles } = opened();
    expect(hear('GUILDHALL_LOBBY_UPDATE', { id: LOBBY, metadata: {} })).toEqual([]);
    expect(handles.lobby(LOBBY)).toBeNull();
  });

  test('link to a channel', () => {
    const { hear, handles } = opened({ lobbies: [lobby()] });
    const linked = { id: '31', name: 'general', guild_id: '32', type: 0 };
    hear('LOBBY_UPDATE', lobby({ linked_channel: linked }));
    expect(handles.lobby(LOBBY)?.linkedChannel).toEqual({ id: '31', name: 'general', guildId: '32' });
    hear('LOBBY_UPDATE', lobby());
    expect(handles.lobby(LOBBY)?.linkedChannel).toBeNull();
  });
});

describe('messages', () => {
  const message = (id: string, more: object = {}) => ({
    id,
    type: 0,
    content: `text ${id}`,
    lobby_id: LOBBY,
    channel_id: LOBBY,
    author: user(PEER),
    flags: 0,
    ...more,
  });

  test('show what they hold', () => {
    const { hear, handles } = opened({ lobbies: [lobby()] });
    const id = idAt(0);
    const more = {
      content: `<@${PEER}> hi <:wave:123>`,
      metadata: { round: '1' },
      moderation_metadata: { flag: 'ok' },
      lobby_member: { additional_name: 'Red' },
      application_id: APPLICATION,
      mentions: [user(PEER, { global_name: 'Peer' })],
      attachments: [{ filename: 'a.png' }, { filename: 'b.png' }],
    };
    expect(hear('LOBBY_MESSAGE_CREATE', message(id, more))).toEqual([
      { type: 'messageCreated', messageId: id },
    ]);
    const handle = handles.message(id)!;
    expect(handle).toMatchObject({
      content: '@Peer hi :wave:',
      rawContent: more.content,
      metadata: { round: '1' },
      moderationMetadata: { flag: 'ok' },
      additionalName: 'Red',
      applicationId: APPLICATION,
      sentFromGame: true,
      sentTimestamp: NOW_MS,
      editedTimestamp: 0,
      recipientId: null,
      additionalContent: { type: AdditionalContentType.Attachment, title: 'a.png', count: 2 },
    });
    expect(handle.lobby?.id).toBe(LOBBY);
    hear('LOBBY_MESSAGE_UPDATE', {
      id,
      lobby_id: LOBBY,
      content: 'new',
      edited_timestamp: '2026-03-01T12:00:01Z',
    });
    expect(handle).toMatchObject({ content: 'new', editedTimestamp: NOW_MS + 1000, moderationMetadata: {} });
    expect(handle.metadata).toEqual({ round: '1' });
    expect(hear('LOBBY_MESSAGE_DELETE', { id, lobby_id: LOBBY })).toEqual([
      { type: 'messageDeleted', messageId: id, channelId: LOBBY },
    ]);
    expect(handles.message(id)).toBeNull();
  });

  test('are kept to the newest 25 of a channel', () => {
    const { hear, handles, state } = opened({ lobbies: [lobby()] });
    const ids = Array.from({ length: 40 }, (_, index) => idAt(0, index));
    for (const id of ids) hear('LOBBY_MESSAGE_CREATE', message(id));
    expect(ids.filter((id) => handles.message(id) !== null)).toEqual(ids.slice(-25));
    expect(state.places.size).toBe(25);
  });

  test('are kept of so many channels', () => {
    const { hear, state } = opened();
    for (let channel = 0; channel < KEPT.channels_with_messages_max + 20; channel++) {
      const channelId = String(90_000 + channel);
      hear('MESSAGE_CREATE', message(idAt(0, channel), { lobby_id: undefined, channel_id: channelId }));
    }
    expect(state.messages.size).toBe(KEPT.channels_with_messages_max);
    expect(state.places.size).toBe(KEPT.channels_with_messages_max);
  });

  test('are ignored in guilds, but not in a linked channel', () => {
    const { hear } = opened({ lobbies: [lobby()] });
    expect(
      hear('MESSAGE_CREATE', message('1', { lobby_id: undefined, channel_id: '31', guild_id: '32' })),
    ).toEqual([]);
    expect(hear('LOBBY_MESSAGE_CREATE', message('2', { channel_id: '31', guild_id: '32' }))).toHaveLength(1);
  });

  test('have no single recipient in a group, and its recipients are added and removed', () => {
    const channel = { id: '41', type: 3, name: 'Tea', recipients: [user(PEER), user('71')] };
    const { hear, handles, state } = opened();
    const recipients = () => state.channels.get('41')?.recipientIds;
    hear('CHANNEL_CREATE', channel);
    hear('MESSAGE_CREATE', message('1', { lobby_id: undefined, channel_id: '41', author: user(PEER) }));
    expect(handles.message('1')?.recipientId).toBeNull();
    hear('CHANNEL_RECIPIENT_ADD', { channel_id: '41', user: user('72') });
    expect(recipients()).toEqual([PEER, '71', '72']);
    hear('CHANNEL_RECIPIENT_REMOVE', { channel_id: '41', user: user('71') });
    hear('CHANNEL_RECIPIENT_REMOVE', { channel_id: '99', user: user('71') });
    expect(recipients()).toEqual([PEER, '72']);
    expect(handles.message('1')?.channel?.recipients).toEqual([PEER, '72']);
  });

  test('have the other user as recipient between two users', () => {
    const channel = { id: '41', type: 1, recipient_ids: [PEER] };
    const { hear, handles, state } = opened({ private_channels: [channel], users: [user(PEER)] });
    const dm = (id: string, authorId: string) =>
      message(id, { lobby_id: undefined, channel_id: '41', author: user(authorId) });
    hear('MESSAGE_CREATE', dm('1', ME));
    hear('MESSAGE_CREATE', dm('2', PEER));
    expect([handles.message('1')?.recipientId, handles.message('2')?.recipientId]).toEqual([PEER, ME]);
    expect(handles.message('1')?.channel?.recipients).toEqual([PEER]);
    expect(state.channels.get('41')?.lastMessageId).toBe('2');
    adoptMessage(state, dm('3', ME), { recipientId: PEER });
    expect(handles.message('3')?.recipient?.id).toBe(PEER);
  });
});

describe('a history of direct messages', () => {
  const dm = (id: string, authorId = PEER) => ({
    id,
    type: 0,
    content: id,
    channel_id: '41',
    author: user(authorId),
    flags: 0,
  });
  const ids = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => idAt(60_000, from + index)).toReversed();

  test('is available once loaded, with all later messages', () => {
    const { state, hear } = opened();
    expect(historyAt(state, PEER, 10, NOW_MS)).toBeNull();
    adoptHistory(
      state,
      PEER,
      ids(10).map((id) => dm(id)),
      10,
    );
    const later = idAt(0);
    hear('MESSAGE_CREATE', dm(later, ME));
    expect(historyAt(state, PEER, 5, NOW_MS)?.map(({ id }) => id)).toEqual([later, ...ids(10).slice(0, 4)]);
    expect(historyAt(state, PEER, 12, NOW_MS)).toBeNull();
  });

  test('is complete when the server returned fewer messages than requested', () => {
    const { state } = opened();
    adoptHistory(
      state,
      PEER,
      ids(3).map((id) => dm(id)),
      200,
    );
    expect(historyAt(state, PEER, 200, NOW_MS)).toHaveLength(3);
  });

  test('is not trusted after a gap, and shows nothing older than 72 hours', () => {
    const { state, hear } = opened();
    adoptHistory(state, PEER, [dm(idAt(0)), dm(idAt(KEPT.history_ms + 1))], 200);
    expect(historyAt(state, PEER, 200, NOW_MS)).toHaveLength(1);
    hear('READY', readyBody());
    expect(historyAt(state, PEER, 1, NOW_MS)).toBeNull();
  });

  test('is kept to 200 messages, and loses what is deleted', () => {
    const { state, hear } = opened();
    adoptHistory(
      state,
      PEER,
      ids(200).map((id) => dm(id)),
      200,
    );
    const later = Array.from({ length: 30 }, (_, index) => idAt(0, index));
    for (const id of later) hear('MESSAGE_CREATE', dm(id));
    expect(state.places.size).toBe(200);
    expect(historyAt(state, PEER, 200, NOW_MS)).toHaveLength(200);
    hear('MESSAGE_DELETE', { id: later[3], channel_id: '41' });
    expect(historyAt(state, PEER, 200, NOW_MS)).toBeNull();
    expect(historyAt(state, PEER, 199, NOW_MS)?.map(({ id }) => id)).not.toContain(later[3]);
  });
});

describe('people', () => {
  const playing = {
    user: { id: PEER },
    status: 'online',
    activities: [{ application_id: APPLICATION, name: 'Game' }],
  };

  test('have platform and game relationships, reported separately', () => {
    const { hear, handles, state } = opened();
    expect(hear('RELATIONSHIP_ADD', { id: PEER, type: 3, user: user(PEER) })).toEqual([
      { type: 'relationshipCreated', userId: PEER, isPlatform: true },
    ]);
    expect(hear('GAME_RELATIONSHIP_ADD', { id: PEER, user_id: ME, type: 1 })).toEqual([
      { type: 'relationshipCreated', userId: PEER, isPlatform: false },
      { type: 'relationshipGroupsUpdated', userId: PEER },
    ]);
    const handle = handles.relationship(PEER);
    expect(handle).toMatchObject({
      platformRelationshipType: RelationshipType.PendingIncoming,
      gameRelationshipType: RelationshipType.Friend,
    });
    hear('GAME_RELATIONSHIP_REMOVE', { id: PEER, user_id: ME, type: 1 });
    expect(hear('RELATIONSHIP_REMOVE', { id: PEER })).toEqual([
      { type: 'relationshipDeleted', userId: PEER, isPlatform: true },
    ]);
    expect(hear('RELATIONSHIP_REMOVE', { id: PEER })).toEqual([]);
    expect(state.relationships.size).toBe(0);
  });

  test('are reported by the next READY when they were befriended or removed meanwhile', () => {
    const { hear } = opened({ relationships: [{ id: PEER, type: 1, user: user(PEER) }] });
    const notices = hear(
      'READY',
      readyBody({ relationships: [{ id: '1003', type: 1, user: user('1003') }] }),
    );
    expect(notices).toEqual([
      { type: 'relationshipDeleted', userId: PEER, isPlatform: true },
      { type: 'relationshipCreated', userId: '1003', isPlatform: true },
    ]);
  });

  test('move between the groups of a list of friends', () => {
    const { hear, handles, state } = opened({ relationships: [{ id: PEER, type: 1, user: user(PEER) }] });
    expect(handles.user(PEER)?.status).toBe(StatusType.Offline);
    const told = hear('PRESENCE_UPDATE', playing);
    expect(told).toContainEqual({ type: 'relationshipGroupsUpdated', userId: PEER });
    expect(handles.user(PEER)).toMatchObject({ status: StatusType.Online, gameActivity: { name: 'Game' } });
    hear('PRESENCE_UPDATE', { ...playing, activities: [{ application_id: '1', name: 'Other' }] });
    expect(handles.user(PEER)?.gameActivity).toBeNull();
    const gone = hear('PRESENCE_UPDATE', { user: { id: PEER }, status: 'offline', activities: [] });
    expect(gone).toContainEqual({ type: 'relationshipGroupsUpdated', userId: PEER });
    expect(state.presences.size).toBe(0);
    expect(RelationshipGroupType.Offline).toBe(2);
  });

  test('have pictures', () => {
    const { handles } = opened({
      users: [user(PEER, { avatar: 'a_beef' }), user('1003', { avatar: 'cafe' })],
    });
    expect(handles.user(PEER)?.avatarUrl()).toBe(`http://cdn.test/avatars/${PEER}/a_beef.gif`);
    expect(handles.user('1003')?.avatarUrl()).toBe('http://cdn.test/avatars/1003/cafe.png');
    expect(handles.user(ME)?.avatarUrl()).toBe('http://cdn.test/embed/avatars/0.png');
  });

  test('are known in other services', () => {
    const profile = {
      username: 'Pilot',
      metadata: { level: '3' },
      avatar_hash: 'x',
      external_id: { provider_type: 'STEAM', provider_issued_user_id: '765', provider_id: null },
    };
    const { hear, handles } = opened({ user_application_profiles: { [ME]: [profile] } });
    expect(handles.user(ME)?.userApplicationProfiles).toEqual([
      {
        username: 'Pilot',
        metadata: '{"level":"3"}',
        avatarHash: 'x',
        providerType: 2,
        providerId: null,
        providerIssuedUserId: '765',
      },
    ]);
    hear('USER_APPLICATION_IDENTITY_REMOVE', { user_id: ME });
    expect(handles.user(ME)?.userApplicationProfiles).toEqual([]);
  });

  test('are evicted when nothing refers to them', () => {
    const { hear, state } = opened({ relationships: [{ id: PEER, type: 1, user: user(PEER) }] });
    for (let id = 0; id < KEPT.users_max + 10; id++) hear('USER_UPDATE', user(String(100_000 + id)));
    expect(state.users.size).toBeLessThanOrEqual(KEPT.users_max);
    expect([...state.users.keys()]).toEqual(expect.arrayContaining([ME, PEER]));
  });
});

describe('invites', () => {
  const invite = (more: object = {}) => ({
    message_id: idAt(0),
    channel_id: '41',
    author: user(PEER),
    application: { id: APPLICATION, name: 'Game' },
    activity: { type: 1, party_id: 'p1', session_id: 's1' },
    ...more,
  });

  test('are reported once, and again when they end', () => {
    const { hear } = opened();
    const party = { application_id: APPLICATION, party: { id: 'p1', size: [1, 2] } };
    hear('PRESENCE_UPDATE', { user: user(PEER), status: 'online', activities: [party] });
    const [told] = hear('ACTIVITY_INVITE_CREATE', invite());
    expect(told).toMatchObject({
      type: 'activityInviteCreated',
      invite: { senderId: PEER, partyId: 'p1', sessionId: 's1', applicationId: APPLICATION, isValid: true },
    });
    const message = { ...invite(), id: idAt(0), message_id: undefined, content: 'come', flags: 0 };
    expect(hear('MESSAGE_CREATE', message)).toEqual([{ type: 'messageCreated', messageId: idAt(0) }]);
    const left = hear('PRESENCE_UPDATE', { user: user(PEER), status: 'online', activities: [] });
    expect(left).toContainEqual(
      expect.objectContaining({
        type: 'activityInviteUpdated',
        invite: expect.objectContaining({ isValid: false }),
      }),
    );
  });

  test('are ignored when they are one’s own, or of another kind', () => {
    const { hear } = opened();
    expect(hear('ACTIVITY_INVITE_CREATE', invite({ author: user(ME) }))).toEqual([]);
    expect(hear('ACTIVITY_INVITE_CREATE', invite({ activity: { type: 3, party_id: 'p' } }))).toEqual([]);
    expect(hear('ACTIVITY_INVITE_CREATE', { activity: null })).toEqual([]);
  });
});

const NAMES = [
  'READY PRESENCE_UPDATE USER_UPDATE ACTIVITY_INVITE_CREATE USER_APPLICATION_IDENTITY_UPDATE toString __proto__',
  'GUILDHALL_LOBBY_UPDATE GUILDHALL_LOBBY_MEMBER_UPDATE LOBBY_CREATE LOBBY_UPDATE LOBBY_DELETE LOBBY_MEMBER_ADD LOBBY_MEMBER_UPDATE LOBBY_MEMBER_REMOVE',
  'LOBBY_MESSAGE_CREATE LOBBY_MESSAGE_UPDATE LOBBY_MESSAGE_DELETE MESSAGE_CREATE MESSAGE_UPDATE MESSAGE_DELETE',
  'RELATIONSHIP_ADD RELATIONSHIP_REMOVE GAME_RELATIONSHIP_ADD GAME_RELATIONSHIP_REMOVE CHANNEL_CREATE',
].flatMap((names) => names.split(' '));
const KEYS = [
  'id user user_id lobby_id channel_id author member members lobbies type relationships metadata content status',
  'activities activity party recipients flags private_channels user_application_profiles mentions poll',
  'attachments linked_channel lobby_member application username recipient_ids',
].flatMap((keys) => keys.split(' '));

test('handles are readable after any gateway input, without exceptions', () => {
  const id = fc.constantFrom(ME, PEER, LOBBY, '41');
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'told' },
      fc.constantFrom(null, true, 1, -1, 1e300, '', 'x', [], 'NaN'),
      id,
      tie('object'),
      fc.array(tie('object'), { maxLength: 3 }),
    ),
    object: fc.dictionary(fc.constantFrom(...KEYS), tie('any')),
  })).object as fc.Arbitrary<object>;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 8 }), (told) => {
      const { hear, handles, state } = opened({ lobbies: [lobby()] });
      for (const [name, d] of told) hear(name, d);
      for (const lobbyId of state.lobbies.keys()) JSON.stringify(handles.lobby(lobbyId));
      for (const messageId of state.places.keys())
        expect(JSON.stringify(handles.message(messageId))).toContain(messageId);
      for (const userId of state.users.keys()) JSON.stringify(handles.user(userId));
    }),
    { numRuns: 200 },
  );
});

test('ids are ordered as numbers, and contain their creation time', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n }), fc.bigInt({ min: 0n, max: 2n ** 63n }), (a, b) => {
      expect(Math.sign(byId(String(a), String(b)))).toBe(a < b ? -1 : a > b ? 1 : 0);
    }),
  );
  expect(madeMs(idAt(0))).toBe(NOW_MS);
  expect(madeMs('x')).toBe(0);
});
