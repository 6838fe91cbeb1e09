import { idleAtMs } from '../../engine/lobby/lobby.ts';
import { type ChannelId, compareIds } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import type { LobbyRows } from './database.ts';
import { type DatabaseLine, storeOf } from './storeof.ts';

const idsOf = (entries: Iterable<readonly [string, LobbyRows]>): ChannelId[] =>
  [...entries].map(([id]) => id as ChannelId).sort(compareIds);

/** The lobbies of the simulated database, as the port reads them. */
export function lobbyStore(line: DatabaseLine): Storage['lobbies'] {
  const { lobbies, secrets, users } = line.database;
  const those = (is: (rows: LobbyRows) => boolean) => idsOf([...lobbies].filter(([, rows]) => is(rows)));
  const dueOf = ({ lobby }: LobbyRows): number => idleAtMs(lobby) ?? Number.POSITIVE_INFINITY;
  return storeOf<Storage['lobbies']>(line, 'lobbies', {
    load: (id) => {
      const rows = lobbies.get(id);
      if (!rows) return null;
      const members = [...rows.members.values()]
        .sort((a, b) => a.joined_ms - b.joined_ms || compareIds(a.user.id, b.user.id))
        .map((member) => ({ ...member, user: users.get(member.user.id) ?? member.user }));
      return { lobby: rows.lobby, members, voiceStates: [...rows.voiceStates.values()] };
    },
    bySecret: (asked, nowMs) =>
      asked.flatMap(({ applicationId, hash }) => {
        const known = secrets.get(`${applicationId} ${hash}`);
        const { lobbyId, expiresMs } = known ?? { lobbyId: null, expiresMs: 0 };
        return lobbyId && expiresMs > nowMs ? [{ applicationId, hash, lobbyId, expiresMs }] : [];
      }),
    persons: (asked) =>
      asked.flatMap(({ userId, applicationId }) => {
        const user = users.get(userId);
        const own = those(
          ({ lobby, members }) => lobby.application_id === applicationId && members.has(userId),
        );
        return user ? [{ applicationId, user, lobbies: own.length }] : [];
      }),
    ofUser: (userId, applicationId) =>
      those(({ lobby, members }) => lobby.application_id === applicationId && members.has(userId)),
    all: (userId) => those(({ members }) => members.has(userId)),
    message: (id, messageId) => lobbies.get(id)?.messages.get(messageId) ?? null,
    messages: (id, sinceId, limit) =>
      [...(lobbies.get(id)?.messages.values() ?? [])]
        .filter((message) => compareIds(message.id, sinceId) >= 0)
        .sort((a, b) => compareIds(b.id, a.id))
        .slice(0, limit),
    linkedTo: (channelId) => those(({ lobby }) => lobby.linked?.channel.id === channelId)[0] ?? null,
    due: (nowMs, limit) => those((rows) => dueOf(rows) <= nowMs).slice(0, limit),
    nextDueMs: () => {
      const nextMs = Math.min(...[...lobbies.values()].map(dueOf));
      return Number.isFinite(nextMs) ? nextMs : null;
    },
    inUse: (after, limit) =>
      those(({ lobby }) => lobby.idle_since_ms === null && lobby.linked === null)
        .filter((id) => after === null || compareIds(id, after) > 0)
        .slice(0, limit),
    sweep: () => ({ after: null, lobbies: lobbies.size }),
  });
}
