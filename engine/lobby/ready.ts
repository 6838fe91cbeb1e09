import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { LobbyState, ReadyCheck } from './lobby.ts';
import type { LobbyOutcomeFact } from './topic.ts';

export const readyObject = (lobbyId: string, { id, started_by, ends_ms, answers, status }: ReadyCheck) => ({
  lobby_id: lobbyId,
  id,
  started_by,
  status,
  ends_at: isoTimestamp(ends_ms),
  answers: [...answers].map(([user_id, ready]) => ({ user_id, ready })),
});

export type ReadyCheckObject = ReturnType<typeof readyObject>;

/** The check without the members who left; the same object when nothing changed. */
function settledCheck(check: ReadyCheck, { members }: LobbyState, nowMs: number): ReadyCheck {
  if (check.status !== 'open') return check;
  const left = [...check.answers.keys()].some((id) => !members.has(id));
  const answers = left ? new Map([...check.answers].filter(([id]) => members.has(id))) : check.answers;
  const said = [...answers.values()];
  const status = said.includes(false)
    ? 'declined'
    : said.length === 0
      ? 'cancelled'
      : !said.includes(null)
        ? 'passed'
        : nowMs >= check.ends_ms
          ? 'timed_out'
          : 'open';
  return left || status !== check.status ? { ...check, answers, status } : check;
}

export function readyFacts(state: LobbyState, nowMs: number): LobbyOutcomeFact[] {
  if (!state.ready) return [];
  const check = settledCheck(state.ready, state, nowMs);
  return check === state.ready ? [] : [{ type: 'lobbyReadyChanged', check }];
}
