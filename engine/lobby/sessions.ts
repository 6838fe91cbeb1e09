import type { UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { SessionRef } from '../fanout/direct.ts';
import { accepted, type Env } from '../kernel/aggregate.ts';
import { idleAtMs, type LobbyState, settled } from './lobby.ts';
import { deletion } from './members.ts';
import { attach, connectionDispatches, enter, gatewayLobby, memberUpdate } from './objects.ts';
import type { LobbyOutcomeFact, LobbyTopic } from './topic.ts';
import { leavingWith } from './voice.ts';

/** Longer than it takes until a shard that was lost is known to be, and its users have other owners. */
const UNRECORDED_MS = 30_000;

/** Commands of the server itself: connected sessions, and the end of lobbies without one. */
type SessionCommands = {
  /** The value is the lobby as READY shows it; null when the user is not a member. */
  attachSessions: {
    input: {
      readonly userId: UserId;
      readonly sessions: readonly SessionRef[];
      readonly announce: boolean;
      /**
       * The sessions were open before, at another owner of the user: they are sent the lobby if they may have missed dispatches of it, also
       * where they are attached already.
       */
      readonly areBack?: boolean;
      /** The sessions are sent the lobby although they are attached: they have missed a part of its state. */
      readonly again?: boolean;
      /** The sessions received the lobby before they were attached, so that it shows their user as not connected. */
      readonly areEarly?: boolean;
    };
    value: object | null;
  };
  detachSession: { input: { readonly userId: UserId; readonly sessionId: string }; value: null };
  /** For a changed account of a member. */
  changeUser: { input: { readonly user: APIUser }; value: null };
  /** Stores the start of the idle time when it changed. */
  settle: { input: object; value: null };
  /** Ends the lobby if its idle time has passed; the store may hold an older state. The value says whether it ended. */
  expire: { input: object; value: boolean };
};

const settling = (state: LobbyState, env: Env): LobbyOutcomeFact[] => {
  const lobby = settled(state, env.nowMs);
  return lobby === state.lobby ? [] : [{ type: 'lobbySettled', lobby }];
};

export const sessions: LobbyTopic<
  SessionCommands,
  'lobbySettled' | 'lobbySessionsAttached' | 'lobbyShown' | 'lobbySessionDetached' | 'lobbyUserChanged'
> = {
  commands: {
    attachSessions: {
      server: true,
      decide: (
        state,
        { userId, sessions, announce: wanted, areBack = false, again = false, areEarly = false },
        _by,
        { nowMs, unattached, missing, unrecordedMs = Number.NEGATIVE_INFINITY },
      ) => {
        if (!state.members.has(userId)) return accepted(null);
        const isAddressed = (unattached?.get(userId) ?? 0) > nowMs && !missing?.has(userId);
        const announce = wanted || (areBack && !isAddressed);
        const fresh = sessions.filter(({ sessionId }) => !state.sessions.has(sessionId));
        const shown = (): object => {
          const all = [...state.sessions, ...fresh.map((session) => [session.sessionId, session] as const)];
          return gatewayLobby({ ...state, sessions: new Map(all) });
        };
        // An announcing caller needs no reply, which would be as large as the lobby.
        const value = announce ? null : shown();
        const isOutdated = again || (areBack && nowMs - unrecordedMs < UNRECORDED_MS);
        const known = isOutdated
          ? sessions.flatMap(({ sessionId }) => state.sessions.get(sessionId) ?? [])
          : [];
        return accepted(value, [
          ...(fresh.length > 0
            ? [{ type: 'lobbySessionsAttached', userId, sessions: fresh, announce, areEarly } as const]
            : []),
          ...(known.length > 0 ? [{ type: 'lobbyShown', sessions: known } as const] : []),
        ]);
      },
    },
    detachSession: {
      server: true,
      decide: (state, { userId, sessionId }, _by) => {
        const left = leavingWith(state, userId, sessionId);
        if (!state.sessions.has(sessionId)) return accepted(null, left);
        return accepted(null, [...left, { type: 'lobbySessionDetached', userId, sessionId }]);
      },
    },
    changeUser: {
      server: true,
      decide: (state, { user }, _by) => {
        const known = state.members.has(user.id);
        return accepted(null, known ? [{ type: 'lobbyUserChanged', user }] : []);
      },
    },
    settle: { server: true, decide: (state, _input, _by, env) => accepted(null, settling(state, env)) },
    expire: {
      server: true,
      decide: (state, _input, _by, env) => {
        // The store's state may be older: a member may have connected since it was read.
        const settlement = settling(state, env);
        const atMs = idleAtMs(state.lobby);
        if (settlement.length > 0 || atMs === null || atMs > env.nowMs) return accepted(false, settlement);
        return accepted(true, [deletion(state)]);
      },
    },
  },
  facts: {
    lobbySettled: {
      apply: (state, { lobby }) => {
        state.lobby = lobby;
      },
      dispatches: () => [],
    },
    lobbySessionsAttached: {
      durable: false,
      apply: (state, { sessions }) => attach(state, sessions),
      dispatches: (state, { userId, sessions, announce, areEarly }) => {
        const member = areEarly ? state.members.get(userId) : undefined;
        return [
          ...(announce ? [{ t: 'LOBBY_CREATE', d: gatewayLobby(state), to: sessions } as const] : []),
          ...connectionDispatches(state, userId, sessions),
          ...(member ? memberUpdate(state, member, 'member', sessions) : []),
        ];
      },
    },
    lobbyShown: {
      durable: false,
      apply: () => undefined,
      dispatches: (state, { sessions }) => [{ t: 'LOBBY_CREATE', d: gatewayLobby(state), to: sessions }],
    },
    lobbySessionDetached: {
      durable: false,
      apply: (state, { sessionId }) => {
        state.sessions.delete(sessionId);
      },
      dispatches: (state, { userId }) => connectionDispatches(state, userId, []),
    },
    lobbyUserChanged: {
      durable: false,
      apply: (state, { user }) => {
        const member = state.members.get(user.id);
        if (member) enter(state, { ...member, user });
      },
      dispatches: (state, { user }) => {
        const member = state.members.get(user.id);
        return member ? memberUpdate(state, member, 'user') : [];
      },
    },
  },
};
