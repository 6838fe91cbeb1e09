import type { UserId } from '../../protocol/ids.ts';
import type { Lobby, LobbyState } from './lobby.ts';
import { settingsOf } from './settings.ts';
import type { LobbyOutcomeFact } from './topic.ts';

/** Cost: O(sessions). */
function connectedIds({ sessions }: LobbyState): ReadonlySet<string> {
  return new Set([...sessions.values()].map(({ userId }) => userId));
}

/**
 * Elects the host: the current host while connected and during the grace period; then the connected member who joined
 * first. Without connected members the host does not change. The same lobby with the same connected members always
 * elects the same host.
 */
export function electedHost(state: LobbyState, nowMs: number): UserId | null {
  const { lobby, members, hostAwayMs } = state;
  const { host_grace_seconds: graceSec } = settingsOf(lobby);
  if (graceSec === null) return null;
  const hostId = lobby.host_id ?? null;
  const isMember = hostId !== null && members.has(hostId);
  const connected = connectedIds(state);
  if (isMember && connected.has(hostId)) return hostId;
  if (isMember && (hostAwayMs === null || nowMs < hostAwayMs + graceSec * 1_000)) return hostId;
  for (const id of members.keys()) if (connected.has(id)) return id;
  return isMember ? hostId : null;
}

/** When the host's grace period ends, Unix milliseconds; null while it does not run or no other member is connected. */
export function hostDueMs({ lobby, sessions, hostAwayMs }: LobbyState): number | null {
  const { host_grace_seconds: graceSec } = settingsOf(lobby);
  if (graceSec === null || hostAwayMs === null || sessions.size === 0) return null;
  return hostAwayMs + graceSec * 1_000;
}

/** Makes the elected member host, and records the time from which the host is disconnected. */
export function hostFacts(state: LobbyState, nowMs: number): LobbyOutcomeFact[] {
  const { lobby, hostAwayMs } = state;
  const before = lobby.host_id ?? null;
  if (settingsOf(lobby).host_grace_seconds === null) return [];
  const hostId = electedHost(state, nowMs);
  const isAway = hostId !== null && !connectedIds(state).has(hostId);
  const away: LobbyOutcomeFact[] =
    isAway && (hostId !== before || hostAwayMs === null)
      ? [{ type: 'lobbyHostAway', sinceMs: nowMs }]
      : !isAway && hostAwayMs !== null
        ? [{ type: 'lobbyHostAway', sinceMs: null }]
        : [];
  return hostId === before ? away : [hostChange(lobby, hostId), ...away];
}

export const hostChange = (lobby: Lobby, hostId: UserId | null): LobbyOutcomeFact => ({
  type: 'lobbyHostChanged',
  lobby: { ...lobby, host_id: hostId },
  previousId: lobby.host_id ?? null,
});
