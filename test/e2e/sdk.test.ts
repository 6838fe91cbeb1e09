// Goal: players with the client library meet by a secret, talk, befriend and invite each other, and lose nothing when
// their connection breaks, against a server as it runs.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Client as ClientOf } from '../../sdk/client.ts';
import { clientOf } from '../../sdk/client.ts';
import {
  AuthorizationTokenType,
  ErrorType,
  RelationshipGroupType,
  RelationshipType,
  Status,
  StatusType,
  statusToString,
} from '../../sdk/enums.ts';
import { nodeHost } from '../../sdk/node/host.ts';
import type { ActivityInvite } from '../../sdk/node.ts';
import { CLOSE_TO_RESUME, type WireSocket } from '../../sdk/voice/wire.ts';
import { refusal } from '../support/sdk.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
const players: Player[] = [];
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  for (const { client } of players) client.destroy();
  await server.finish();
});

interface Player {
  readonly id: string;
  readonly token: string;
  readonly client: ClientOf;
  /** Every event it received, as `name argument …`. */
  readonly told: string[];
  /** Breaks its connection, as a network does. */
  cut(): void;
}

const soon = { timeout: 10_000, interval: 20 };

/** A client whose connections can be broken. */
function breakable() {
  let socket: WireSocket | null = null;
  const Client = clientOf(() => {
    const host = nodeHost();
    return {
      ...host,
      openSocket: (url, events) => {
        socket = host.openSocket(url, events);
        return socket;
      },
    };
  });
  return { Client, cut: () => socket?.close(CLOSE_TO_RESUME) };
}

function listen(client: ClientOf): string[] {
  const told: string[] = [];
  const hear =
    (name: string) =>
    (...given: readonly unknown[]) =>
      void told.push([name, ...given].join(' '));
  client.setLobbyCreatedCallback(hear('lobbyCreated'));
  client.setLobbyUpdatedCallback(hear('lobbyUpdated'));
  client.setLobbyDeletedCallback(hear('lobbyDeleted'));
  client.setLobbyMemberAddedCallback(hear('memberAdded'));
  client.setLobbyMemberUpdatedCallback(hear('memberUpdated'));
  client.setLobbyMemberRemovedCallback(hear('memberRemoved'));
  client.setMessageCreatedCallback(hear('messageCreated'));
  client.setMessageUpdatedCallback(hear('messageUpdated'));
  client.setMessageDeletedCallback(hear('messageDeleted'));
  client.setRelationshipCreatedCallback(hear('relationshipCreated'));
  client.setRelationshipDeletedCallback(hear('relationshipDeleted'));
  client.setRelationshipGroupsUpdatedCallback(hear('groupsUpdated'));
  client.setStatusChangedCallback((status) => void told.push(statusToString(status)));
  return told;
}

/** A player authenticated by the game's server. */
async function player(name: string): Promise<Player> {
  const { access_token: token } = await server.bot().call<{ access_token: string }>('bot_partner_sdk_token', {
    body: { external_user_id: name, preferred_global_name: name },
  });
  const { Client, cut } = breakable();
  const client = new Client({ apiBase: server.info.api });
  const told = listen(client);
  await client.updateToken(AuthorizationTokenType.Bearer, token);
  await client.connect();
  const made = { id: client.getCurrentUserV2()!.id, token, client, told, cut };
  players.push(made);
  return made;
}

/** Two players in one lobby. */
async function pair(name: string) {
  const [ada, bo] = [await player(`Ada ${name}`), await player(`Bo ${name}`)];
  const secret = `the secret of ${name}`;
  const lobbyId = await ada.client.createOrJoinLobbyWithMetadata(secret, { mode: 'duel' }, { team: 'red' });
  expect(await bo.client.createOrJoinLobby(secret)).toBe(lobbyId);
  await vi.waitFor(() => expect(ada.told).toContain(`memberAdded ${lobbyId} ${bo.id}`), soon);
  return { ada, bo, lobbyId, secret };
}

describe('a lobby', () => {
  test('is joined by its secret, and lists its members', async () => {
    const { ada, bo, lobbyId } = await pair('meeting');
    const lobby = bo.client.getLobbyHandle(lobbyId)!;
    await vi.waitFor(
      () =>
        expect(lobby.lobbyMembers.map(({ user }) => user?.displayName)).toEqual([
          'Ada meeting',
          'Bo meeting',
        ]),
      soon,
    );
    expect(lobby.metadata).toEqual({ mode: 'duel' });
    expect(lobby.getLobbyMemberHandle(ada.id)).toMatchObject({ metadata: { team: 'red' }, connected: true });
    expect(ada.told.filter((line) => line.startsWith('lobbyCreated'))).toEqual([`lobbyCreated ${lobbyId}`]);
    expect(bo.client.getCurrentUserV2()).toMatchObject({ displayName: 'Bo meeting', isProvisional: true });
  });

  test('shows new metadata when it is joined again', async () => {
    const { ada, bo, lobbyId, secret } = await pair('metadata');
    await bo.client.createOrJoinLobbyWithMetadata(secret, { mode: 'race' }, { team: 'blue' });
    const lobby = ada.client.getLobbyHandle(lobbyId)!;
    await vi.waitFor(() => {
      expect(lobby.metadata).toEqual({ mode: 'race' });
      expect(lobby.getLobbyMemberHandle(bo.id)?.metadata).toEqual({ team: 'blue' });
    }, soon);
  });

  test('delivers messages with metadata, and returns its history', async () => {
    const { ada, bo, lobbyId } = await pair('talk');
    const first = await ada.client.sendLobbyMessageWithMetadata(lobbyId, 'ready?', { round: '1' });
    await vi.waitFor(() => expect(bo.told).toContain(`messageCreated ${first}`), soon);
    expect(bo.client.getMessageHandle(first)).toMatchObject({
      content: 'ready?',
      authorId: ada.id,
      metadata: { round: '1' },
    });
    expect(bo.client.getMessageHandle(first)?.lobby?.id).toBe(lobbyId);
    const second = await bo.client.sendLobbyMessage(lobbyId, 'go');
    await vi.waitFor(() => expect(ada.told).toContain(`messageCreated ${second}`), soon);
    const history = await ada.client.getLobbyMessagesWithLimit(lobbyId, 10);
    expect(history.map(({ content }) => content)).toEqual(['go', 'ready?']);
    expect(ada.told.filter((line) => line === `messageCreated ${first}`)).toHaveLength(1);
  });

  test('is left by a player, and loses a player that the game’s server removes', async () => {
    const { ada, bo, lobbyId } = await pair('leaving');
    await server.bot().call('delete_lobby_member', { params: { lobby_id: lobbyId, user_id: bo.id } });
    await vi.waitFor(() => {
      expect(bo.told).toContain(`lobbyDeleted ${lobbyId}`);
      expect(ada.told).toContain(`memberRemoved ${lobbyId} ${bo.id}`);
    }, soon);
    expect(bo.client.getLobbyHandle(lobbyId)).toBeNull();
    expect((await refusal(bo.client.sendLobbyMessage(lobbyId, 'still here'))).type).toBe(ErrorType.HTTPError);
    await ada.client.leaveLobby(lobbyId);
    expect(ada.client.getLobbyIds()).toEqual([]);
    await vi.waitFor(
      () => expect(ada.told.filter((line) => line === `lobbyDeleted ${lobbyId}`)).toHaveLength(1),
      soon,
    );
  });

  test('shows the names that the game’s server gives its members', async () => {
    const { ada } = await pair('names');
    const lobby = await server.bot().call<{ id: string }>('create_lobby', {
      body: { members: [{ id: ada.id, metadata: { seat: '1' } }], metadata: { kind: 'ranked' } },
    });
    await vi.waitFor(() => expect(ada.told).toContain(`lobbyCreated ${lobby.id}`), soon);
    await server.bot().call('add_lobby_member', {
      params: { lobby_id: lobby.id, user_id: ada.id },
      body: { additional_name: 'Captain' },
    });
    const id = await ada.client.sendLobbyMessage(lobby.id, 'aye');
    await vi.waitFor(() => expect(ada.client.getMessageHandle(id)?.additionalName).toBe('Captain'), soon);
  });
});

describe('a connection that breaks', () => {
  test('is resumed automatically, and missed messages arrive once', async () => {
    const { ada, bo, lobbyId } = await pair('resuming');
    bo.told.length = 0;
    bo.cut();
    await vi.waitFor(() => expect(bo.client.getStatus()).toBe(Status.Reconnecting), soon);
    const ids: string[] = [];
    for (const word of ['one', 'two', 'three']) ids.push(await ada.client.sendLobbyMessage(lobbyId, word));
    await vi.waitFor(() => expect(bo.told).toContain(`messageCreated ${ids[2]}`), soon);
    expect(bo.told.filter((line) => line.startsWith('message'))).toEqual(
      ids.map((id) => `messageCreated ${id}`),
    );
    expect(bo.told.filter((line) => !line.includes(' '))).toEqual(['Reconnecting', 'Connected', 'Ready']);
    expect(bo.client.getLobbyIds()).toEqual([lobbyId]);
  });

  test('finds its lobbies again when it gets a new session', async () => {
    const { ada, bo, lobbyId } = await pair('again');
    bo.client.disconnect();
    await vi.waitFor(() => expect(bo.client.getStatus()).toBe(Status.Disconnected), soon);
    const lobby = ada.client.getLobbyHandle(lobbyId)!;
    await vi.waitFor(() => expect(lobby.getLobbyMemberHandle(bo.id)?.connected).toBe(false), soon);
    await bo.client.connect();
    expect(bo.client.getLobbyIds()).toEqual([lobbyId]);
    await vi.waitFor(() => expect(lobby.getLobbyMemberHandle(bo.id)?.connected).toBe(true), soon);
  });
});

describe('friends of a game', () => {
  test('ask, accept, see each other play, write, invite and part', async () => {
    const { ada, bo } = await pair('friends');
    await ada.client.sendGameFriendRequestById(bo.id);
    await vi.waitFor(() => expect(bo.told).toContain(`relationshipCreated ${ada.id} false`), soon);
    expect(bo.client.getRelationshipHandle(ada.id).gameRelationshipType).toBe(
      RelationshipType.PendingIncoming,
    );
    await bo.client.acceptGameFriendRequest(ada.id);
    await vi.waitFor(
      () =>
        expect(ada.client.getRelationshipHandle(bo.id).gameRelationshipType).toBe(RelationshipType.Friend),
      soon,
    );

    const party = { id: 'party-1', currentSize: 1, maxSize: 2 };
    await ada.client.updateRichPresence({
      name: 'Duel',
      state: 'In the arena',
      party,
      secrets: { join: 'let me in, please' },
    });
    await vi.waitFor(() => {
      const seen = bo.client.getUser(ada.id);
      expect(seen?.status).toBe(StatusType.Online);
      expect(seen?.gameActivity).toMatchObject({
        state: 'In the arena',
        party: { id: 'party-1', currentSize: 1, maxSize: 2 },
      });
      expect(seen?.gameActivity?.secrets).toBeUndefined();
    }, soon);
    const playing = bo.client.getRelationshipsByGroup(RelationshipGroupType.OnlinePlayingGame);
    expect(playing.map(({ id }) => id)).toEqual([ada.id]);

    const id = await ada.client.sendUserMessage(bo.id, 'come over');
    await vi.waitFor(
      () =>
        expect(bo.client.getMessageHandle(id)).toMatchObject({ content: 'come over', recipientId: bo.id }),
      soon,
    );

    const invites: ActivityInvite[] = [];
    bo.client.setActivityInviteCreatedCallback((invite) => invites.push(invite));
    await ada.client.sendActivityInvite(bo.id, '');
    await vi.waitFor(() => expect(invites).toHaveLength(1), soon);
    expect(await bo.client.acceptActivityInvite(invites[0]!)).toBe('let me in, please');

    await bo.client.removeGameFriend(ada.id);
    await vi.waitFor(() => expect(ada.told).toContain(`relationshipDeleted ${bo.id} false`), soon);
    expect(ada.client.getRelationships()).toEqual([]);
  });
});

describe('a token', () => {
  test('ends the connection when it is invalid, without a retry', async () => {
    const { Client } = breakable();
    const client = new Client({ apiBase: server.info.api });
    await client.updateToken(AuthorizationTokenType.Bearer, 'MTIz.YWJj.ZGVm');
    const { result } = await refusal(client.connect());
    expect(result).toMatchObject({ errorCode: 4004, retryable: false });
    expect(client.getStatus()).toBe(Status.Disconnected);
    client.destroy();
  });

  test('resolves to its user, with the current display name', async () => {
    const { ada } = await pair('whose');
    const user = await ada.client.fetchCurrentUser(AuthorizationTokenType.Bearer, ada.token);
    expect(user.id).toBe(ada.id);
    await ada.client.updateProvisionalAccountDisplayName('Ada the Great');
    await vi.waitFor(() => expect(ada.client.getCurrentUserV2()?.displayName).toBe('Ada the Great'), soon);
  });

  test('can be replaced by another token of the same player', async () => {
    const { ada, lobbyId } = await pair('renewed');
    const { access_token: token } = await server
      .bot()
      .call<{ access_token: string }>('bot_partner_sdk_token', { body: { external_user_id: 'Ada renewed' } });
    await ada.client.updateToken(AuthorizationTokenType.Bearer, token);
    expect(ada.client.getStatus()).toBe(Status.Ready);
    expect(ada.client.getLobbyIds()).toEqual([lobbyId]);
  });

  test('receives requests to connect an account, also after a reconnect', async () => {
    const { ada } = await pair('requests');
    let asked = 0;
    ada.client.registerAuthorizeRequestCallback(() => asked++);
    const ask = () =>
      fetch(
        `${server.info.api}/v10/guildhall/v1/applications/${server.info.application.id}/authorize-requests`,
        {
          method: 'POST',
          headers: { authorization: `Bot ${server.info.bot.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ user_id: ada.id }),
        },
      ).then(({ status }) => status);
    await vi.waitFor(async () => expect(await ask()).toBe(200), { ...soon, interval: 300 });
    await vi.waitFor(() => expect(asked).toBe(1), soon);
    ada.client.disconnect();
    await vi.waitFor(() => expect(ada.client.getStatus()).toBe(Status.Disconnected), soon);
    await ada.client.connect();
    await vi.waitFor(async () => expect(await ask()).toBe(200), { ...soon, interval: 300 });
    await vi.waitFor(() => expect(asked).toBe(2), soon);
  });
});

describe('sign-in with an account', () => {
  const SCOPES = () => `${breakable().Client.getDefaultCommunicationScopes()} guilds`;

  /** A client of a game that keeps no secret, and a person who answers every page with yes or no. */
  async function game(authorize = true) {
    const applicationId = server.info.application.id;
    const redirects = ['http://127.0.0.1/callback', 'duel:/authorize/callback'];
    await server.admin(`/applications/${applicationId}/oauth2`, {
      redirect_uris: redirects,
      public_client: true,
    });
    const { token, user } = await server.admin<{ token: string; user: { id: string } }>('/users', {
      username: `person${players.length}${Math.floor(performance.now())}`,
    });
    const ask = (path: string, body: object) =>
      fetch(`${server.info.api}/v10${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    let location = '';
    const answered: number[] = [];
    const openUrl = (url: string) => {
      void (async () => {
        const reply = await ask(`/oauth2/authorize${new URL(url).search}`, { authorize });
        ({ location } = (await reply.json()) as { location: string });
        if (location.startsWith('http')) answered.push((await fetch(location)).status);
        else client.completeAuthorize(location);
      })();
    };
    const { Client } = breakable();
    const client = new Client({ apiBase: server.info.api, applicationId, openUrl });
    players.push({ id: user.id, token, client, told: [], cut: () => {} });
    return { client, applicationId, userId: user.id, ask, answered, location: () => location };
  }

  async function signIn(given: Awaited<ReturnType<typeof game>>, customSchemeParam?: string) {
    const { client, applicationId } = given;
    const { challenge, verifier } = await client.createAuthorizationCodeVerifier();
    const scopes = SCOPES();
    const { code, redirectUri } = await client.authorize({
      scopes,
      codeChallenge: challenge,
      customSchemeParam,
    });
    const tokens = await client.getToken(applicationId, code, verifier, redirectUri);
    return { tokens, code, redirectUri, verifier };
  }

  test('goes through the loopback interface, and leads into the guilds and lobbies of the person', async () => {
    const given = await game();
    const { client, userId, answered } = given;
    const { tokens, redirectUri } = await signIn(given);
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(answered).toEqual([200]);
    expect(tokens.tokenType).toBe('Bearer');
    expect(tokens.expiresIn).toBeGreaterThan(604_700);
    expect(tokens.idToken.split('.')).toHaveLength(3);
    await client.updateToken(AuthorizationTokenType.Bearer, tokens.accessToken);
    await client.connect();
    expect(client.getCurrentUserV2()).toMatchObject({ id: userId, isProvisional: false });
    await server.admin(`/guilds/${server.info.guild.id}/members`, { user_id: userId });
    await vi.waitFor(
      async () => expect((await client.getUserGuilds()).map(({ id }) => id)).toEqual([server.info.guild.id]),
      soon,
    );
    const lobbyId = await client.createOrJoinLobby('for people with accounts');
    expect(client.getLobbyIds()).toEqual([lobbyId]);
  });

  test('is handed over by the application for a custom scheme', async () => {
    const given = await game();
    const { redirectUri, tokens } = await signIn(given, 'duel');
    expect(redirectUri).toBe('duel:/authorize/callback');
    expect(tokens.refreshToken).not.toBe('');
    expect(given.client.completeAuthorize(given.location())).toBe(false);
  });

  test('fails with AuthorizationFailed when the person declines', async () => {
    const { client } = await game(false);
    const { challenge } = await client.createAuthorizationCodeVerifier();
    const error = await refusal(client.authorize({ scopes: SCOPES(), codeChallenge: challenge }));
    expect(error.type).toBe(ErrorType.AuthorizationFailed);
  });

  test('gives a code once, for its own verifier', async () => {
    const given = await game();
    const { client, applicationId } = given;
    const { challenge, verifier } = await client.createAuthorizationCodeVerifier();
    const { code, redirectUri } = await client.authorize({ scopes: SCOPES(), codeChallenge: challenge });
    const other = await client.createAuthorizationCodeVerifier();
    const wrong = await refusal(client.getToken(applicationId, code, other.verifier, redirectUri));
    expect(wrong.result).toMatchObject({ type: ErrorType.HTTPError, status: 400 });
    const tokens = await client.getToken(applicationId, code, verifier, redirectUri);
    const spent = await refusal(client.getToken(applicationId, code, verifier, redirectUri));
    expect(spent.result.status).toBe(400);
    // The second use of a code means that it was stolen, so the tokens of the first use are revoked.
    const stolen = await refusal(client.fetchCurrentUser(AuthorizationTokenType.Bearer, tokens.accessToken));
    expect(stolen.result.status).toBe(401);
  });

  test('continues with refreshed tokens until they are revoked', async () => {
    const given = await game();
    const { client, applicationId } = given;
    const { tokens } = await signIn(given);
    const fresh = await client.refreshToken(applicationId, tokens.refreshToken);
    const old = await refusal(client.fetchCurrentUser(AuthorizationTokenType.Bearer, tokens.accessToken));
    expect(old.result.status).toBe(401);
    await client.updateToken(AuthorizationTokenType.Bearer, fresh.accessToken);
    await client.connect();
    let expired = 0;
    client.setTokenExpirationCallback(() => expired++);
    await client.revokeToken(applicationId, fresh.accessToken);
    await vi.waitFor(() => expect(client.getStatus()).toBe(Status.Disconnected), soon);
    const gone = await refusal(client.refreshToken(applicationId, fresh.refreshToken));
    expect(gone.message).toBe('invalid_grant: Invalid "refresh_token" in request');
    expect(expired).toBe(0);
  });

  test('works on a device without a page', async () => {
    const { client, ask } = await game();
    const { accessToken } = await client.getTokenFromDevice({
      scopes: SCOPES(),
      onCode: ({ userCode }) => void ask('/oauth2/device/finish', { user_code: userCode, result: 'granted' }),
    });
    expect(accessToken).not.toBe('');
  });

  test('lets a permitted member link a lobby to a channel, and delivers messages both ways', async () => {
    const given = await game();
    const { client, userId } = given;
    const { tokens } = await signIn(given);
    const told = listen(client);
    await client.updateToken(AuthorizationTokenType.Bearer, tokens.accessToken);
    await client.connect();
    const { id: guildId, text_channel_id: channelId } = server.info.guild;
    const permissions = String((1n << 4n) | (1n << 10n) | (1n << 11n));
    await server.admin(`/guilds/${guildId}/members`, { user_id: userId, permissions });
    const { id: lobbyId } = await server
      .bot()
      .call<{ id: string }>('create_lobby', { body: { members: [{ id: userId, flags: 1 }] } });
    await vi.waitFor(
      () => expect(client.getLobbyHandle(lobbyId)?.getLobbyMemberHandle(userId)?.canLinkLobby).toBe(true),
      soon,
    );

    const channels = await client.getGuildChannels(guildId);
    expect(channels.map(({ position }) => position)).toEqual(
      channels.map(({ position }) => position).sort((a, b) => a - b),
    );
    expect(channels.find(({ id }) => id === channelId)).toMatchObject({
      isLinkable: true,
      linkedLobby: null,
    });
    await client.linkChannelToLobby(lobbyId, channelId);
    await vi.waitFor(
      () => expect(client.getLobbyHandle(lobbyId)?.linkedChannel).toMatchObject({ id: channelId, guildId }),
      soon,
    );

    await client.sendLobbyMessage(lobbyId, 'from the game');
    const inChannel = () =>
      server.bot().call<{ content: string }[]>('list_messages', { params: { channel_id: channelId } });
    await vi.waitFor(
      async () => expect((await inChannel()).map(({ content }) => content)).toContain('from the game'),
      soon,
    );
    await server
      .bot()
      .call('create_message', { params: { channel_id: channelId }, body: { content: 'from the guild' } });
    await vi.waitFor(() => {
      const ids = told.flatMap((line) => /^messageCreated (\d+)$/.exec(line)?.[1] ?? []);
      expect(ids.map((id) => client.getMessageHandle(id)?.content)).toEqual([
        'from the game',
        'from the guild',
      ]);
    }, soon);

    await client.unlinkChannelFromLobby(lobbyId);
    await vi.waitFor(() => expect(client.getLobbyHandle(lobbyId)?.linkedChannel).toBeNull(), soon);
  });
});
