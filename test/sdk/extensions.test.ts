// Goal: the library's extensions of lobbies send what the server accepts, and receive its events.
import { describe, expect, test } from 'vitest';
import { ErrorType } from '../../sdk/enums.ts';
import type { MatchTicket, ReadyCheck } from '../../sdk/extensions.ts';
import { LOBBY, ME, PEER, readyClient, refusal } from '../support/sdk.ts';

const AT = `/guildhall/v1/lobbies/${LOBBY}`;
const lobby = { id: LOBBY, application_id: '5001', metadata: {}, members: [{ id: ME }] };
const check = { lobby_id: LOBBY, id: '1', status: 'open', answers: [{ user_id: PEER, ready: null }] };
const ticket = { id: '2', queue: 'race', status: 'waiting', user_ids: [ME], lobby_id: null };

describe('calls', () => {
  test('search lobbies with the given criteria, and parse the results', async () => {
    const { client, server } = await readyClient();
    const found = {
      id: LOBBY,
      members: 2,
      capacity: 4,
      locked: false,
      has_password: true,
      metadata: { map: 'x' },
    };
    server.answer('POST /guildhall/v1/lobbies/search', () => ({
      body: { lobbies: [found, { id: 7 }, null] },
    }));
    const filters = [{ key: 'level', is: 'range', min: 5 }] as const;
    expect(await client.searchLobbies({ filters, openOnly: true, limit: 10 })).toEqual([
      {
        ...{ id: LOBBY, members: 2, capacity: 4, locked: false, hasPassword: true, inviteOnly: false },
        ...{ game: null, metadata: { map: 'x' } },
      },
    ]);
    expect(server.asked.at(-1)?.body).toEqual({ filters, open_only: true, limit: 10 });
  });

  test('create, join and control a lobby, and put it into the store', async () => {
    const { client, server } = await readyClient();
    const last = () => {
      const { method, path, body } = server.asked.at(-1)!;
      return [`${method} ${path}`, body];
    };
    server.answer('POST /guildhall/v1/lobbies', () => ({ status: 201, body: lobby }));
    expect(await client.createOpenLobby({ listed: true, maxMembers: 4 }, { map: 'x' })).toBe(LOBBY);
    expect(last()[1]).toEqual({ listed: true, max_members: 4, metadata: { map: 'x' }, member_metadata: {} });
    expect(client.getLobbyIds()).toEqual([LOBBY]);
    server.answer(`PUT ${AT}/members/@me`, () => ({ body: lobby }));
    await client.joinOpenLobby(LOBBY, 'open sesame');
    expect(last()[1]).toEqual({ password: 'open sesame' });
    server.answer(`PATCH ${AT}`, () => ({ body: lobby }));
    await client.updateLobbySettings(LOBBY, { hostGraceSeconds: null, password: null });
    expect(last()[1]).toEqual({ host_grace_seconds: null, password: null });
    server.answer(`POST ${AT}/messages`, () => ({ status: 204 }));
    await client.sendLobbyGameMessage(LOBBY, 'move', { x: 1 });
    expect(last()).toEqual([`POST ${AT}/messages`, { type: 'move', data: { x: 1 } }]);
  });

  test('are checked before anything is sent', async () => {
    const { client, server } = await readyClient();
    const before = server.asked.length;
    const calls: Promise<unknown>[] = [
      client.joinOpenLobby('../users'),
      client.sendLobbyGameMessage(LOBBY, ''),
      client.getMatchTicket('x'),
      client.setLobbyHost(LOBBY, 'me'),
      client.createOpenLobby({}, { k: 1 as unknown as string }),
    ];
    for (const call of calls) expect((await refusal(call)).result.type).toBe(ErrorType.ValidationError);
    expect(server.asked).toHaveLength(before);
  });

  test('are refused when the answer cannot be used', async () => {
    const { client, server } = await readyClient();
    server.answer('POST /guildhall/v1/matchmaking/tickets', () => ({ status: 201, body: { id: 'x' } }));
    expect((await refusal(client.createMatchTicket('race'))).result.type).toBe(ErrorType.HTTPError);
  });
});

describe('dispatches', () => {
  test('report the host of a lobby, from READY on', async () => {
    const { client, server } = await readyClient({ lobbies: [{ ...lobby, host_id: ME }] });
    const changes: (string | null)[][] = [];
    client.setLobbyHostChangedCallback((...change) => void changes.push(change));
    expect(client.getLobbyHostId(LOBBY)).toBe(ME);
    server.dispatch('GUILDHALL_LOBBY_HOST', { lobby_id: LOBBY, host_id: PEER, previous_host_id: ME });
    expect(client.getLobbyHostId(LOBBY)).toBe(PEER);
    server.dispatch('LOBBY_DELETE', { id: LOBBY, reason: 'deleted' });
    expect(client.getLobbyHostId(LOBBY)).toBeNull();
    expect(changes).toEqual([[LOBBY, PEER]]);
  });

  test('reach the callbacks of checks, messages and tickets, unless they make no sense', async () => {
    const { client, server } = await readyClient();
    const [checks, messages, tickets]: [ReadyCheck[], unknown[], MatchTicket[]] = [[], [], []];
    client.setReadyCheckCallback((each) => void checks.push(each));
    client.setLobbyGameMessageCallback((...message) => void messages.push(message));
    client.setMatchTicketCallback((each) => void tickets.push(each));
    server.dispatch('GUILDHALL_LOBBY_READY', check);
    server.dispatch('GUILDHALL_LOBBY_MESSAGE', { lobby_id: LOBBY, user_id: null, type: 'tick', data: [1] });
    server.dispatch('GUILDHALL_LOBBY_MESSAGE', { lobby_id: LOBBY, user_id: PEER, type: 'hi' });
    server.dispatch('GUILDHALL_MATCHMAKING_UPDATE', { ...ticket, status: 'matched', lobby_id: LOBBY });
    for (const name of ['READY', 'MESSAGE', 'HOST'])
      server.dispatch(`GUILDHALL_LOBBY_${name}`, { lobby_id: 5 });
    server.dispatch('GUILDHALL_MATCHMAKING_UPDATE', { id: {} });
    expect(checks).toEqual([{ lobbyId: LOBBY, id: '1', status: 'open', answers: new Map([[PEER, null]]) }]);
    expect(messages).toEqual([
      [LOBBY, 'tick', [1], null],
      [LOBBY, 'hi', null, PEER],
    ]);
    expect(tickets).toEqual([{ id: '2', queue: 'race', status: 'matched', userIds: [ME], lobbyId: LOBBY }]);
  });
});
