import type { SessionRef } from '../../engine/fanout/direct.ts';
import {
  idleAtMs,
  type Lobby,
  type LobbyLink,
  type LobbyMember,
  type LobbyMessage,
  type LobbyState,
} from '../../engine/lobby/lobby.ts';
import type { LobbyOutcomeFact } from '../../engine/lobby/topic.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { Notifications } from '../runtime/aggregate.ports.ts';

/** Receives durable changes, and the end of the lobby. */
export interface LobbyListener {
  /**
   * A user became a member: the user's open sessions are attached. `isRest`: except those that the command named, and the
   * attached ones are sent the lobby, because only the named ones were.
   */
  memberJoined(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId, isRest: boolean): void;
  /** These sessions are detached from the lobby. */
  left(lobbyId: ChannelId, sessions: Iterable<SessionRef>): void;
  /** The users of these sessions have other owners, which detach the sessions that are not open. */
  usersMoved(lobbyId: ChannelId, sessions: Iterable<SessionRef>): void;
  /** A message was created; `link` is null for a lobby that is not linked. */
  said(lobbyId: ChannelId, link: LobbyLink | null, message: LobbyMessage): void;
  /** Ends at this time unless a user joins, Unix milliseconds. */
  idle(atMs: number): void;
  deleted(lobbyId: ChannelId, link: LobbyLink | null): void;
  /** The actor ended with these sessions attached: its successor takes them over. */
  lost(lobbyId: ChannelId, sessions: readonly SessionRef[]): void;
  /** The lobby is in memory, for the first time or once more; `lost` were the sessions when its actor failed. */
  loaded?(lobbyId: ChannelId, lost: readonly SessionRef[]): void;
}

/** The lobby as the rows see it. */
export interface NotifyingLobby {
  readonly id: ChannelId;
  readonly listener: LobbyListener;
  /** Null when the actor has ended. */
  readonly state: LobbyState | null;
  /** Null without a game. */
  readonly game: {
    joined(member: LobbyMember): void;
    left(member: LobbyMember): void;
    close(why: 'deleted'): void;
  } | null;
  /** Starts the game that the lobby's settings name, and ends a game that they no longer name. */
  play(): void;
}

/** The lobby's idle time may end at another time than before. */
const notifyIdle = ({ lobby }: { readonly lobby: Lobby }, { listener }: NotifyingLobby): void => {
  const atMs = idleAtMs(lobby);
  if (atMs !== null) listener.idle(atMs);
};

/** The listener attaches sessions by changes of membership, and forwards messages to the linked channel. */
export const LOBBY_NOTIFICATIONS: Notifications<LobbyOutcomeFact, NotifyingLobby> = {
  lobbyMemberAdded({ applicationId, member, allSessions }, { id, listener, game }) {
    listener.memberJoined(id, applicationId, member.user.id, allSessions === true);
    game?.joined(member);
  },
  lobbyMemberRemoved({ member, sessions }, { id, listener, game }) {
    listener.left(id, sessions);
    game?.left(member);
  },
  lobbyMessageCreated: ({ message }, { id, listener, state }) =>
    listener.said(id, state?.lobby.linked ?? null, message),
  lobbyDeleted({ lobby }, { id, listener, state, game }) {
    listener.left(id, state?.sessions.values() ?? []);
    listener.deleted(id, lobby.linked);
    game?.close('deleted');
  },
  lobbyCreated: notifyIdle,
  lobbySettled: notifyIdle,
  lobbyLinked: notifyIdle,
  lobbyUnlinked: notifyIdle,
  lobbyHostChanged: notifyIdle,
  lobbyUpdated(fact, lobby) {
    notifyIdle(fact, lobby);
    lobby.play();
  },
};
