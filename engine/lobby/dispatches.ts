import type { UserId } from '../../protocol/ids.ts';
import type { SessionRef } from '../fanout/direct.ts';
import type { LobbyMember, LobbyState } from './lobby.ts';
import { gatewayLobby, gatewayMember } from './objects.ts';
import type { LobbyDispatch } from './topic.ts';

export const everyone = ({ sessions }: LobbyState): readonly SessionRef[] => [...sessions.values()];

export const others = ({ sessions }: LobbyState, userId: string): readonly SessionRef[] =>
  [...sessions.values()].filter((session) => session.userId !== userId);

export const attach = (state: LobbyState, sessions: readonly SessionRef[]): void => {
  for (const session of sessions) state.sessions.set(session.sessionId, session);
};

/** Replaces a member; a new member is added last. */
export const enter = (state: LobbyState, member: LobbyMember): void => {
  state.members.set(member.user.id, member);
};

export const lobbyUpdate = (state: LobbyState): LobbyDispatch => ({
  t: 'LOBBY_UPDATE',
  d: gatewayLobby(state),
  to: everyone(state),
});

/** The payload of a dispatch about one member. */
export const aboutMember = (state: LobbyState, member: LobbyMember) => ({
  member: gatewayMember(state, member),
  lobby_id: state.lobby.id,
  application_id: state.lobby.application_id,
});

/** Notifies the other members when the member's first session connected or the last one ended. */
export function connectionDispatches(
  state: LobbyState,
  userId: UserId,
  but: readonly SessionRef[],
): readonly LobbyDispatch[] {
  const member = state.members.get(userId);
  const more = [...state.sessions.values()].some(
    (session) => session.userId === userId && !but.includes(session),
  );
  if (!member || more) return [];
  return [{ t: 'LOBBY_MEMBER_UPDATE', d: aboutMember(state, member), to: others(state, userId) }];
}
