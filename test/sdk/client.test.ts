// Goal: every method of the client asks for what the wire knows, reads what comes back, and refuses what cannot be.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ErrorType, LoggingSeverity, RelationshipGroupType, StatusType } from '../../sdk/enums.ts';
import {
  ACCESS_TOKEN,
  APPLICATION,
  LOBBY,
  ME,
  PEER,
  readyClient,
  refusal,
  scriptedClient,
  settle,
} from '../support/sdk.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 2, 1, 12) }));
afterEach(() => void vi.useRealTimers());

const idNow = (index = 0): string => String((BigInt(Date.now() - 1_420_070_400_000) << 22n) + BigInt(index));
const user = (id: string) => ({ id, username: `user${id}`, global_name: null, avatar: null, flags: 0 });
const lobbyAnswer = {
  id: LOBBY,
  application_id: APPLICATION,
  metadata: { mode: 'duel' },
  members: [{ id: ME, metadata: {}, flags: 0 }],
  flags: 0,
};
const lobbyMessage = (id: string) => ({
  id,
  type: 0,
  content: 'hi',
  lobby_id: LOBBY,
  channel_id: LOBBY,
  author: user(ME),
  flags: 0,
});
const directMessage = (id: string, author = PEER) => ({
  id,
  type: 0,
  content: id,
  channel_id: '41',
  author: user(author),
  flags: 0,
});

describe('lobbies', () => {
  test('are joined by their secret, with one created callback', async () => {
    const { client, server } = await readyClient();
    const created: string[] = [];
    client.setLobbyCreatedCallback((id) => created.push(id));
    server.answer('PUT /lobbies', () => ({ body: lobbyAnswer }));
    expect(await client.createOrJoinLobbyWithMetadata('secret one', { mode: 'duel' }, { hp: '5' })).toBe(
      LOBBY,
    );
    expect(server.asked.at(-1)).toMatchObject({
      method: 'PUT',
      path: '/lobbies',
      authorization: `Bearer ${ACCESS_TOKEN}`,
      body: { secret: 'secret one', lobby_metadata: { mode: 'duel' }, member_metadata: { hp: '5' } },
    });
    await client.createOrJoinLobby('secret one');
    expect(server.asked.at(-1)?.body).toEqual({ secret: 'secret one' });
    server.dispatch('LOBBY_CREATE', { ...lobbyAnswer, voice_states: [] });
    expect(created).toEqual([LOBBY]);
    expect(client.getLobbyIds()).toEqual([LOBBY]);
    expect(client.getLobbyHandle(LOBBY)?.metadata).toEqual({ mode: 'duel' });
  });

  test('are left, with one deleted callback', async () => {
    const { client, server } = await readyClient({ lobbies: [lobbyAnswer] });
    const deleted: string[] = [];
    client.setLobbyDeletedCallback((id) => deleted.push(id));
    server.answer(`DELETE /lobbies/${LOBBY}/members/@me`, () => ({ status: 204 }));
    await client.leaveLobby(LOBBY);
    server.dispatch('LOBBY_DELETE', { id: LOBBY, reason: 'removed' });
    expect(deleted).toEqual([LOBBY]);
    expect(client.getLobbyHandle(LOBBY)).toBeNull();
  });

  test('are linked and unlinked; the linkable channels are listed in order', async () => {
    const { client, server } = await readyClient();
    const channel = (id: string, position: number, more: object = {}) => ({
      id,
      name: `c${id}`,
      type: 0,
      position,
      ...more,
    });
    server.answer('GET /guilds/32/channels', () => ({
      body: [
        channel('9', 2),
        channel('8', 1, {
          is_linkable: true,
          is_viewable_and_writeable_by_all_members: true,
          parent_id: '3',
        }),
        channel('10', 1, { linked_lobby: { application_id: APPLICATION, lobby_id: LOBBY } }),
      ],
    }));
    const channels = await client.getGuildChannels('32');
    expect(server.asked.at(-1)?.path).toBe('/guilds/32/channels?with_can_link_lobby=true');
    expect(channels.map(({ id }) => id)).toEqual(['8', '10', '9']);
    expect(channels[0]).toMatchObject({
      isLinkable: true,
      isViewableAndWriteableByAllMembers: true,
      parentId: '3',
    });
    expect(channels[1]?.linkedLobby).toEqual({ applicationId: APPLICATION, lobbyId: LOBBY });
    server.answer(`PATCH /lobbies/${LOBBY}/channel-linking`, () => ({ body: lobbyAnswer }));
    await client.linkChannelToLobby(LOBBY, '8');
    expect(server.asked.at(-1)?.body).toEqual({ channel_id: '8' });
    await client.unlinkChannelFromLobby(LOBBY);
    expect(server.asked.at(-1)?.body).toEqual({});
    server.answer('GET /users/@me/guilds', () => ({
      body: [{ id: '32', name: 'Harbour' }, { name: 'none' }],
    }));
    expect(await client.getUserGuilds()).toEqual([{ id: '32', name: 'Harbour' }]);
  });

  test('lead into their guild; a player without an account is asked to connect one first', async () => {
    const provisional = { ...user(ME), flags: 1 << 23 };
    for (const [me, times] of [
      [user(ME), 0],
      [provisional, 1],
    ] as const) {
      const { client, server } = await readyClient({ user: me });
      server.answer(`POST /lobbies/${LOBBY}/members/@me/invites`, () => ({ body: { code: 'abc' } }));
      const required = vi.fn();
      const joining = client.joinLinkedLobbyGuild(LOBBY, required);
      await settle();
      expect(required).toHaveBeenCalledTimes(times);
      client.provisionalUserMergeCompleted(true);
      expect(await joining).toBe('http://server.test/invite/abc');
      expect(server.opened).toEqual(['http://server.test/invite/abc']);
      if (times === 0) continue;
      const refused = refusal(client.joinLinkedLobbyGuild(LOBBY, required));
      await settle();
      client.provisionalUserMergeCompleted(false);
      expect((await refused).type).toBe(ErrorType.Aborted);
    }
  });
});

describe('messages', () => {
  test('are sent to a lobby, and are in the store when the request resolves', async () => {
    const { client, server } = await readyClient({ lobbies: [lobbyAnswer] });
    const told: string[] = [];
    client.setMessageCreatedCallback((id) => told.push(id));
    const id = idNow();
    server.answer(`POST /lobbies/${LOBBY}/messages`, () => ({ status: 201, body: lobbyMessage(id) }));
    expect(await client.sendLobbyMessageWithMetadata(LOBBY, 'hi', { x: '1' })).toBe(id);
    expect(server.asked.at(-1)?.body).toEqual({ content: 'hi', metadata: { x: '1' } });
    expect(client.getMessageHandle(id)?.lobby?.id).toBe(LOBBY);
    server.dispatch('LOBBY_MESSAGE_CREATE', lobbyMessage(id));
    expect(told).toEqual([id]);
  });

  test('are requested on each call for a lobby, newest first, none older than 72 hours', async () => {
    const { client, server } = await readyClient({ lobbies: [lobbyAnswer] });
    const old = String(BigInt(Date.now() - 73 * 3_600_000 - 1_420_070_400_000) << 22n);
    server.answer(`GET /lobbies/${LOBBY}/messages`, () => ({
      body: [lobbyMessage(idNow(1)), lobbyMessage(idNow(2)), lobbyMessage(old)],
    }));
    for (const [limit, asked] of [
      [0, 200],
      [10, 10],
    ] as const) {
      const messages = await client.getLobbyMessagesWithLimit(LOBBY, limit);
      expect(messages.map(({ id }) => id)).toEqual([idNow(2), idNow(1)]);
      expect(server.asked.at(-1)?.path).toBe(`/lobbies/${LOBBY}/messages?limit=${asked}`);
    }
  });

  test('are requested once for a player', async () => {
    const { client, server } = await readyClient();
    server.answer(`GET /users/${PEER}/messages`, () => ({
      body: [directMessage(idNow(2)), directMessage(idNow(1), ME)],
    }));
    const asks = () => server.asked.filter(({ method }) => method === 'GET').length;
    await client.getUserMessagesWithLimit(PEER, 10);
    const before = asks();
    server.dispatch('MESSAGE_CREATE', directMessage(idNow(3)));
    const again = await client.getUserMessagesWithLimit(PEER, 0);
    expect(again.map(({ id, recipientId }) => [id, recipientId])).toEqual([
      [idNow(3), ME],
      [idNow(2), ME],
      [idNow(1), PEER],
    ]);
    expect(asks()).toBe(before);
  });

  test('are written to a player, changed and deleted', async () => {
    const { client, server } = await readyClient({
      private_channels: [{ id: '41', type: 1, recipient_ids: [PEER] }],
    });
    const id = idNow();
    server.answer(`POST /users/${PEER}/messages`, () => ({ body: directMessage(id, ME) }));
    server.answer(`PATCH /users/${PEER}/messages/${id}`, () => ({
      body: { ...directMessage(id, ME), content: 'new' },
    }));
    server.answer(`DELETE /users/${PEER}/messages/${id}`, () => ({ status: 204 }));
    await client.sendUserMessage(PEER, 'hello');
    expect(client.getMessageHandle(id)?.recipientId).toBe(PEER);
    server.dispatch('MESSAGE_CREATE', directMessage(id, ME));
    expect(await client.getUserMessageSummaries()).toEqual([{ userId: PEER, lastMessageId: id }]);
    await client.editUserMessage(PEER, id, 'new');
    expect(client.getMessageHandle(id)?.content).toBe('new');
    await client.deleteUserMessage(PEER, id);
    expect(client.getMessageHandle(id)).toBeNull();
  });

  test('can be opened outside of the game where they have a place there', async () => {
    const linked = { ...lobbyAnswer, linked_channel: { id: '31', guild_id: '32', name: 'general' } };
    const { client, server } = await readyClient({ lobbies: [linked, { ...lobbyAnswer, id: '7002' }] });
    server.dispatch('LOBBY_MESSAGE_CREATE', lobbyMessage('1'));
    server.dispatch('LOBBY_MESSAGE_CREATE', { ...lobbyMessage('2'), lobby_id: '7002' });
    expect([client.canOpenMessageInPlatform('1'), client.canOpenMessageInPlatform('2')]).toEqual([
      true,
      false,
    ]);
    await client.openMessageInPlatform('1');
    expect(server.opened).toEqual(['http://server.test/channels/32/31']);
    expect((await refusal(client.openMessageInPlatform('2'))).type).toBe(ErrorType.Disabled);
  });
});

describe('people', () => {
  test.each<[string, string, object | null]>([
    ['sendPlatformFriendRequestById', `PUT /users/@me/relationships/${PEER}`, {}],
    ['acceptPlatformFriendRequest', `PUT /users/@me/relationships/${PEER}`, {}],
    ['rejectPlatformFriendRequest', `DELETE /users/@me/relationships/${PEER}`, null],
    ['cancelPlatformFriendRequest', `DELETE /users/@me/relationships/${PEER}`, null],
    ['blockUser', `PUT /users/@me/relationships/${PEER}`, { type: 2 }],
    ['unblockUser', `DELETE /users/@me/relationships/${PEER}`, null],
    ['sendGameFriendRequestById', `PUT /users/@me/game-relationships/${PEER}`, {}],
    ['acceptGameFriendRequest', `PUT /users/@me/game-relationships/${PEER}`, {}],
    ['rejectGameFriendRequest', `DELETE /users/@me/game-relationships/${PEER}`, null],
    ['cancelGameFriendRequest', `DELETE /users/@me/game-relationships/${PEER}`, null],
    ['removeGameFriend', `DELETE /users/@me/game-relationships/${PEER}`, null],
  ] as const)('%s asks %s', async (name, route, body) => {
    const { client, server } = await readyClient();
    server.answer(route, () => ({ status: 204 }));
    await (client as unknown as Record<string, (userId: string) => Promise<void>>)[name]!(PEER);
    const { method, path, body: sent } = server.asked.at(-1)!;
    expect([`${method} ${path}`, sent]).toEqual([route, body]);
  });

  test('are asked by name', async () => {
    const { client, server } = await readyClient();
    for (const kind of ['relationships', 'game-relationships'])
      server.answer(`POST /users/@me/${kind}`, () => ({ status: 204 }));
    await client.sendPlatformFriendRequest('ada');
    expect(server.asked.at(-1)).toMatchObject({
      path: '/users/@me/relationships',
      body: { username: 'ada', discriminator: null },
    });
    await client.sendGameFriendRequest('ada');
    expect(server.asked.at(-1)?.path).toBe('/users/@me/game-relationships');
  });

  test('are listed by group and name, and found', async () => {
    const friend = (id: string, name: string) => ({ id, type: 1, user: { ...user(id), global_name: name } });
    const { client, server } = await readyClient({
      relationships: [
        friend('1', 'Zoe'),
        friend('2', 'amy'),
        friend('3', 'Bo'),
        { ...friend('4', 'Cy'), type: 2 },
      ],
      presences: [
        { user: { id: '1' }, status: 'online', activities: [{ application_id: APPLICATION, name: 'Game' }] },
        { user: { id: '2' }, status: 'dnd', activities: [{ application_id: APPLICATION, name: 'Game' }] },
      ],
    });
    const names = (group: RelationshipGroupType) =>
      client.getRelationshipsByGroup(group).map(({ user: who }) => who?.displayName);
    expect(names(RelationshipGroupType.OnlinePlayingGame)).toEqual(['amy', 'Zoe']);
    expect(names(RelationshipGroupType.Offline)).toEqual(['Bo']);
    expect(client.searchFriendsByUsername('O').map(({ displayName }) => displayName)).toEqual(['Zoe', 'Bo']);
    const updates: string[] = [];
    client.setRelationshipGroupsUpdatedCallback((id) => updates.push(id));
    server.dispatch('PRESENCE_UPDATE', { user: { id: '3' }, status: 'online', activities: [] });
    expect(updates).toEqual(['3']);
  });

  test('are removed as friends wherever they are friends', async () => {
    const { client, server } = await readyClient({
      relationships: [{ id: PEER, type: 1, user: user(PEER) }],
    });
    server.answer(`DELETE /users/@me/relationships/${PEER}`, () => ({ status: 204 }));
    await client.removePlatformAndGameFriend(PEER);
    expect(server.asked.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  });
});

describe('the rich presence', () => {
  const party = { id: 'p1', currentSize: 1, maxSize: 4 };

  test('is shown, and shown again to a new session', async () => {
    const { client, server } = await readyClient();
    await client.updateRichPresence({ name: 'Duel', state: 'In a duel', party });
    const activity = {
      name: 'Duel',
      type: 0,
      state: 'In a duel',
      application_id: APPLICATION,
      party: { id: 'p1', size: [1, 4], privacy: 0 },
    };
    const told = { since: null, activities: [activity], status: 'online', afk: false };
    expect(server.sent(3)).toEqual([told]);
    server.drop(4009);
    await vi.advanceTimersByTimeAsync(1000);
    server.welcome();
    expect(server.sent(3)).toEqual([told]);
    await client.setOnlineStatus(StatusType.Idle);
    client.clearRichPresence();
    expect(server.sent(3).slice(1)).toEqual([
      { ...told, status: 'idle' },
      { ...told, status: 'idle', activities: [] },
    ]);
  });

  test('is sent at most five times in 20 s, and the latest one is sent last', async () => {
    const { client, server } = await readyClient();
    for (let round = 0; round < 20; round++) await client.updateRichPresence({ state: `Round ${round}` });
    expect(server.sent(3)).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(server.sent(3)).toHaveLength(6);
    expect(server.sent(3).at(-1)).toMatchObject({ activities: [{ state: 'Round 19' }] });
  });

  test('set during a reconnect is sent once the client is connected', async () => {
    const { client, server } = await readyClient();
    server.drop();
    await client.updateRichPresence({ state: 'Later' });
    await vi.advanceTimersByTimeAsync(1000);
    server.hello();
    server.dispatch('RESUMED', {});
    expect(server.sent(3)).toMatchObject([{ activities: [{ state: 'Later' }] }]);
  });

  test('requires a connected client, and is cleared on disconnect', async () => {
    const { client } = await readyClient();
    client.disconnect();
    await settle();
    expect((await refusal(client.updateRichPresence({ state: 'None' }))).type).toBe(ErrorType.ClientNotReady);
  });
});

describe('invites', () => {
  const party = { id: 'p1', currentSize: 1, maxSize: 4 };
  const route = `POST /users/${PEER}/messages`;

  test('contain the party, and not its secret, if they are into one’s own party', async () => {
    const { client, server } = await readyClient();
    expect((await refusal(client.sendActivityInvite(PEER, 'come'))).type).toBe(ErrorType.ValidationError);
    await client.updateRichPresence({ party, secrets: { join: 'the join secret' } });
    server.answer(route, () => ({ body: directMessage(idNow(), ME) }));
    await client.sendActivityInvite(PEER, 'come');
    expect(server.asked.at(-1)?.body).toEqual({
      content: 'come',
      activity: { type: 1, session_id: 'session-1', party_id: 'p1' },
      application_id: APPLICATION,
    });
  });

  test('are asked for, answered and accepted', async () => {
    const { client, server } = await readyClient();
    const shown = { application_id: APPLICATION, session_id: 's9', party: { id: 'p9', size: [1, 2] } };
    server.dispatch('PRESENCE_UPDATE', { user: user(PEER), status: 'online', activities: [shown] });
    server.answer(route, () => ({ body: directMessage(idNow(), ME) }));
    await client.sendActivityJoinRequest(PEER);
    expect(server.asked.at(-1)?.body).toMatchObject({
      activity: { type: 5, session_id: 's9', party_id: 'p9' },
    });
    const invites: Parameters<typeof client.acceptActivityInvite>[0][] = [];
    client.setActivityInviteCreatedCallback((invite) => invites.push(invite));
    const told = { channel_id: '41', author: user(PEER), application: { id: APPLICATION } };
    server.dispatch('ACTIVITY_INVITE_CREATE', {
      ...told,
      message_id: idNow(1),
      activity: { type: 1, party_id: 'p9', session_id: 's9' },
    });
    server.dispatch('ACTIVITY_INVITE_CREATE', {
      ...told,
      message_id: idNow(2),
      activity: { type: 5, party_id: 'p1' },
    });
    server.answer(`GET /users/${PEER}/sessions/s9/activities/${APPLICATION}/1`, () => ({
      body: { secret: 'join me here' },
    }));
    expect(await client.acceptActivityInvite(invites[0]!)).toBe('join me here');
    expect(server.asked.at(-1)?.path).toContain(`?channel_id=41&message_id=${idNow(1)}`);
    await client.updateRichPresence({ party, secrets: { join: 'the join secret' } });
    await client.sendActivityJoinRequestReply(invites[1]!);
    expect(server.asked.at(-1)?.body).toMatchObject({ activity: { type: 1, party_id: 'p1' } });
    expect((await refusal(client.acceptActivityInvite(invites[1]!))).type).toBe(ErrorType.ValidationError);
    await vi.advanceTimersByTimeAsync(6 * 3_600_000 + 1);
    expect((await refusal(client.acceptActivityInvite(invites[0]!))).message).toBe(
      'The invite is no longer valid.',
    );
  });
});

describe('an invalid request', () => {
  test('is refused before anything is sent', async () => {
    const { client, server } = await readyClient();
    const before = server.asked.length;
    const long = 'x'.repeat(1025);
    const many = Object.fromEntries(Array.from({ length: 26 }, (_, index) => [`k${index}`, 'v']));
    const calls = [
      client.createOrJoinLobby(''),
      client.createOrJoinLobby('x'.repeat(251)),
      client.createOrJoinLobbyWithMetadata('s', many, {}),
      client.createOrJoinLobbyWithMetadata('s', {}, { k: long }),
      client.createOrJoinLobbyWithMetadata('s', { k: 1 as unknown as string }, {}),
      client.leaveLobby('../users'),
      client.sendLobbyMessage(LOBBY, ''),
      client.sendLobbyMessage(LOBBY, '  \n'),
      client.sendLobbyMessage(LOBBY, 'x'.repeat(2001)),
      client.sendLobbyMessage('nowhere', 'hi'),
      client.sendUserMessage('', 'hi'),
      client.getLobbyMessagesWithLimit(LOBBY, 201),
      client.getUserMessagesWithLimit(PEER, 1.5),
      client.blockUser('me'),
      client.sendGameFriendRequest(''),
      client.updateProvisionalAccountDisplayName('x'.repeat(33)),
      client.setOnlineStatus(StatusType.Streaming),
      client.updateRichPresence({ state: 'x' }),
      client.getToken('', 'code', 'verifier', 'uri'),
      client.getProvisionalToken(APPLICATION, 99 as 0, 'token'),
    ];
    for (const call of calls) expect((await refusal(call)).type).toBe(ErrorType.ValidationError);
    expect(server.asked.length).toBe(before);
    expect(() => client.setApplicationId('none')).toThrow();
  });

  test('is a typed refusal when the server refuses it', async () => {
    const { client, server } = await readyClient();
    server.answer('PUT /lobbies', () => ({
      status: 403,
      body: { code: 50026, message: 'Missing required OAuth2 scope' },
    }));
    const error = await refusal(client.createOrJoinLobby('secret'));
    expect(error.result).toMatchObject({
      type: ErrorType.HTTPError,
      status: 403,
      errorCode: 50026,
      retryable: false,
    });
    expect(String(error)).toBe('HTTPError: Missing required OAuth2 scope (status 403, code 50026)');
    server.answer('PUT /lobbies', () => ({ body: [] }));
    expect((await refusal(client.createOrJoinLobby('secret'))).type).toBe(ErrorType.HTTPError);
  });
});

test('a callback is taken back, is replaced, and may throw', async () => {
  const { client, server } = await readyClient();
  const lines: string[] = [];
  client.addLogCallback((line) => lines.push(line), LoggingSeverity.Error);
  const told: string[] = [];
  const dispose = client.setUserUpdatedCallback(() => told.push('first'));
  client.setUserUpdatedCallback(() => {
    told.push('second');
    throw new Error('of the application');
  });
  dispose();
  server.dispatch('USER_UPDATE', { ...user(ME), username: 'renamed' });
  server.dispatch('USER_UPDATE', { ...user(ME), username: 'again' });
  expect(told).toEqual(['second', 'second']);
  expect(lines.every((line) => line.includes('of the application'))).toBe(true);
});

test('the person of now is absent until Ready', async () => {
  const { client } = scriptedClient();
  expect(client.getCurrentUserV2()).toBeNull();
  expect(() => client.getCurrentUser()).toThrow('The client is not connected.');
  const { client: ready, server } = await readyClient();
  expect(ready.getCurrentUser().id).toBe(ME);
  ready.openConnectedGamesSettingsInPlatform();
  expect(server.opened).toEqual(['http://server.test/settings']);
});
