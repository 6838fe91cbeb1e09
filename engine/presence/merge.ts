import type { GatewayActivity } from 'discord-api-types/v10';

/** A status that a client may set; `invisible` hides the user from everyone else. */
type SentStatus = 'online' | 'dnd' | 'idle' | 'invisible' | 'offline';
type ShownStatus = 'online' | 'dnd' | 'idle';
/** Keys of `client_status`; `embedded` is a game. */
type Platform = 'desktop' | 'mobile' | 'web' | 'vr' | 'embedded';

/** The presence that one live session reports for its user. */
export interface SessionPresence {
  readonly sessionId: string;
  readonly status: SentStatus;
  readonly platform: Platform;
  readonly activities: readonly GatewayActivity[];
  /** Time of the last change, on any clock that all sessions share. */
  readonly changedMs: number;
}

/** A user's presence as others see it; an invisible or offline user has none. */
export interface Presence {
  readonly status: ShownStatus;
  readonly activities: readonly GatewayActivity[];
  readonly client_status: Readonly<Partial<Record<Platform, ShownStatus>>>;
}

/**
 * Lower wins. "Do not disturb" on one device applies to the user as a whole, and being active on one device outweighs
 * being idle on another. The platform documents no order; this one is ours.
 */
const PRECEDENCE: Readonly<Record<ShownStatus, number>> = { dnd: 0, online: 1, idle: 2 };

type VisiblePresence = SessionPresence & { readonly status: ShownStatus };
const isShown = (session: SessionPresence): session is VisiblePresence =>
  session.status !== 'invisible' && session.status !== 'offline';

/**
 * Merges the presences of a user's sessions, in any order: the status by precedence, per platform and overall, and the
 * activities of the first session that has any, ordered by status, then by latest change.
 *
 * Cost: one pass, because a bot may have thousands of sessions, and each that opens merges all.
 *
 * @returns Null when no session is visible: the user is offline to everyone.
 */
export function mergePresences(sessions: Iterable<SessionPresence>): Presence | null {
  const first = new Map<Platform, VisiblePresence>();
  let busy: VisiblePresence | undefined;
  for (const session of sessions) {
    if (!isShown(session)) continue;
    first.set(session.platform, moreSalient(first.get(session.platform), session));
    if (session.activities.length > 0) busy = moreSalient(busy, session);
  }
  const shown = [...first.values()].sort(bySalience);
  const [overall] = shown;
  if (!overall) return null;
  const clientStatus = Object.fromEntries(shown.map(({ platform, status }) => [platform, status]));
  return { status: overall.status, activities: busy?.activities ?? [], client_status: clientStatus };
}

const moreSalient = (known: VisiblePresence | undefined, session: VisiblePresence): VisiblePresence =>
  known === undefined || bySalience(session, known) < 0 ? session : known;

/** A total order, so that the result does not depend on the order of arrival; the session id breaks ties. */
const bySalience = (a: VisiblePresence, b: VisiblePresence): number =>
  PRECEDENCE[a.status] - PRECEDENCE[b.status] ||
  b.changedMs - a.changedMs ||
  (a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0);
