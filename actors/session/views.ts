import type { ReplayBuffer } from '../../engine/fanout/body.ts';
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
  readonly feed: { latest(max: number): ReturnType<ReplayBuffer['latest']> };
}

const LATEST_MAX = 20;

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
    views.push({ ...viewed, authorized: authorization !== null, latest: latestOf(feed) });
  }
  return views;
}

function latestOf(feed: ViewedSession['feed']): SessionView['latest'] {
  const { firstSeq, bodies } = feed.latest(LATEST_MAX);
  return bodies.map(({ t }, at) => ({ seq: firstSeq + at, t })).reverse();
}
