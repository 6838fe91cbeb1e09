// Goal: the listener and the game of a lobby are notified exactly of the durable facts that concern them.
import { describe, expect, it } from 'vitest';
import {
  LOBBY_NOTIFICATIONS,
  type LobbyListener,
  type NotifyingLobby,
} from '../../../actors/lobby/lobby.notifications.ts';
import { notifyListeners } from '../../../actors/runtime/aggregate.ts';
import type { LobbyState } from '../../../engine/lobby/lobby.ts';
import type { LobbyOutcomeFact } from '../../../engine/lobby/topic.ts';
import type { ChannelId } from '../../../protocol/ids.ts';

const LOBBY = '1' as ChannelId;
const LINK = { channel_id: '5' };
const SESSION = { sessionId: 's' };
const APPLICATION = '3';
const member = { user: { id: '11' } };
const idle = { idle_since_ms: 1_000, idle_timeout_seconds: 2, linked: null };
const inUse = { ...idle, idle_since_ms: null };
const linked = { ...idle, linked: LINK };

function recorder<T extends object>(calls: unknown[], prefix = ''): T {
  const get =
    (_: object, name: string | symbol) =>
    (...args: unknown[]) =>
      void calls.push([`${prefix}${String(name)}`, ...args]);
  return new Proxy({}, { get }) as T;
}

function notified(fact: object, rest: { readonly state?: null; readonly game?: null } = {}): unknown[] {
  const calls: unknown[] = [];
  const state = { lobby: { linked: LINK }, sessions: new Map([['s', SESSION]]) } as unknown as LobbyState;
  notifyListeners(LOBBY_NOTIFICATIONS, [fact as LobbyOutcomeFact], {
    ...{ id: LOBBY, listener: recorder<LobbyListener>(calls), state },
    ...{ game: recorder<NonNullable<NotifyingLobby['game']>>(calls, 'game.'), ...rest },
    play: () => calls.push(['play']),
  });
  return calls.map((call) =>
    (call as unknown[]).map((arg) =>
      arg instanceof Object && Symbol.iterator in arg ? [...(arg as never)] : arg,
    ),
  );
}

const added = { type: 'lobbyMemberAdded', applicationId: APPLICATION, member };
const removed = { type: 'lobbyMemberRemoved', applicationId: APPLICATION, member, sessions: [SESSION] };
const deleted = { type: 'lobbyDeleted', lobby: linked };
const said = { type: 'lobbyMessageCreated', message: { id: '9' } };

describe('the listener and the game of a lobby', () => {
  it.each<[string, object, unknown[]]>([
    [
      'a member whose sessions the command named',
      added,
      [
        ['memberJoined', LOBBY, APPLICATION, '11', false],
        ['game.joined', member],
      ],
    ],
    [
      'a member whose sessions must all be attached',
      { ...added, allSessions: true },
      [
        ['memberJoined', LOBBY, APPLICATION, '11', true],
        ['game.joined', member],
      ],
    ],
    [
      'a removed member with the sessions of the fact',
      removed,
      [
        ['left', LOBBY, [SESSION]],
        ['game.left', member],
      ],
    ],
    ['a message, with the link of the lobby', said, [['said', LOBBY, LINK, { id: '9' }]]],
    [
      'the end of the lobby, after its sessions were detached',
      deleted,
      [
        ['left', LOBBY, [SESSION]],
        ['deleted', LOBBY, LINK],
        ['game.close', 'deleted'],
      ],
    ],
    ['the end of the idle time of a new lobby', { type: 'lobbyCreated', lobby: idle }, [['idle', 3_000]]],
    ['the end of the idle time', { type: 'lobbySettled', lobby: idle }, [['idle', 3_000]]],
    [
      'the end of the idle time after a change of host',
      { type: 'lobbyHostChanged', lobby: idle },
      [['idle', 3_000]],
    ],
    ['the end of the idle time without a link', { type: 'lobbyUnlinked', lobby: idle }, [['idle', 3_000]]],
    ['no idle time of a linked lobby', { type: 'lobbyLinked', lobby: linked }, []],
    ['no idle time of a lobby in use', { type: 'lobbySettled', lobby: inUse }, []],
    ['changed settings, which may name another game', { type: 'lobbyUpdated', lobby: inUse }, [['play']]],
    ['changed settings of an idle lobby', { type: 'lobbyUpdated', lobby: idle }, [['idle', 3_000], ['play']]],
    ['no entry in search', { type: 'lobbyListed', listing: {} }, []],
  ])('are notified of %s', (_name, fact, expected) => expect(notified(fact)).toEqual(expected));

  it('include no game in a lobby without one', () => {
    expect(notified(added, { game: null })).toEqual([['memberJoined', LOBBY, APPLICATION, '11', false]]);
    expect(notified(removed, { game: null })).toEqual([['left', LOBBY, [SESSION]]]);
  });

  it('are notified of facts that became durable after the end of the actor', () => {
    expect(notified(said, { state: null })).toEqual([['said', LOBBY, null, { id: '9' }]]);
    expect(notified(deleted, { state: null })[0]).toEqual(['left', LOBBY, []]);
  });
});
