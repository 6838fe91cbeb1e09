import type { Missed } from '../../engine/session/replay.ts';
import type { UserId } from '../../protocol/ids.ts';

/** A session as the operator sees it. The session id is left out: with it a client could resume the session. */
export interface SessionView {
  /** Ascending in this process. */
  readonly handle: number;
  readonly userId: UserId;
  readonly bot: boolean;
  /** Whether an application acts for the user. */
  readonly authorized: boolean;
  readonly intents: number;
  /** Number of dispatches that the session was sent. */
  readonly seq: number;
  /** The latest dispatches that are kept for RESUME, newest first. */
  readonly latest: readonly { readonly seq: number; readonly t: string }[];
}

/** The fields of a session that a view reads. */
export interface ViewedSession extends Pick<SessionView, 'handle' | 'userId' | 'bot' | 'intents' | 'seq'> {
  readonly authorization: object | null;
  readonly feed: { missedSince(seq: number): Missed };
}

/** Numbers of latest dispatches, tried in this order: the buffer may have evicted all but a few. */
const LATEST_COUNTS = [20, 10, 5, 2, 1];

/** Sessions with handles above `after`, ascending: a map keeps the order of insertion. O(n) in all sessions. */
export function sessionViews(
  live: ReadonlyMap<string, ViewedSession>,
  after: number,
  limit: number,
): readonly SessionView[] {
  const views: SessionView[] = [];
  for (const { handle, userId, bot, authorization, intents, seq, feed } of live.values()) {
    if (handle <= after) continue;
    if (views.length === limit) break;
    const viewed = { handle, userId, bot, intents, seq };
    views.push({ ...viewed, authorized: authorization !== null, latest: latestOf(seq, feed) });
  }
  return views;
}

function latestOf(seq: number, feed: ViewedSession['feed']): SessionView['latest'] {
  for (const count of LATEST_COUNTS) {
    const missed = feed.missedSince(Math.max(0, seq - count));
    if (missed.kind !== 'missed') continue;
    return missed.bodies.map(({ t }, at) => ({ seq: missed.firstSeq + at, t })).reverse();
  }
  return [];
}
