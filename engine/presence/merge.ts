import type { GatewayActivity } from 'discord-api-types/v10';

/** What a client may say of itself; `invisible` is heard by nobody else. */
type SentStatus = 'online' | 'dnd' | 'idle' | 'invisible' | 'offline';
type ShownStatus = 'online' | 'dnd' | 'idle';
/** Keys of `client_status`; `embedded` is a game. */
type Platform = 'desktop' | 'mobile' | 'web' | 'vr' | 'embedded';

/** What one live session says of its user. */
export interface SessionPresence {
  readonly sessionId: string;
  readonly status: SentStatus;
  readonly platform: Platform;
  readonly activities: readonly GatewayActivity[];
  /** When it last said something new; any clock, as long as all sessions use the same. */
  readonly changedMs: number;
}

/** A user as the others see them; who is not seen at all has none. */
export interface Presence {
  readonly status: ShownStatus;
  readonly activities: readonly GatewayActivity[];
  readonly client_status: Readonly<Partial<Record<Platform, ShownStatus>>>;
}

/**
 * Lower is shown first. A wish not to be disturbed, made on one device, holds for the person; being at one device
 * outweighs being away from another. The platform publishes no order; this is ours.
 */
const PRECEDENCE: Readonly<Record<ShownStatus, number>> = { dnd: 0, online: 1, idle: 2 };

type Shown = SessionPresence & { readonly status: ShownStatus };
const isShown = (session: SessionPresence): session is Shown =>
  session.status !== 'invisible' && session.status !== 'offline';

/**
 * One presence out of those of a user's sessions, whatever their order: the status by precedence, per platform and
 * over all; the activities of the session that says most clearly and most recently what the user does.
 *
 * @returns null when no session shows itself: the user is offline to everyone.
 */
export function mergePresences(sessions: Iterable<SessionPresence>): Presence | null {
  const shown = [...sessions].filter(isShown).sort(bySalience);
  const first = shown[0];
  if (!first) return null;
  const clientStatus: Partial<Record<Platform, ShownStatus>> = {};
  for (const { platform, status } of shown) clientStatus[platform] ??= status;
  const busy = shown.find((session) => session.activities.length > 0);
  return { status: first.status, activities: busy?.activities ?? [], client_status: clientStatus };
}

/** A total order, so that the outcome does not hang on the order of arrival: the id decides between equals. */
const bySalience = (a: Shown, b: Shown): number =>
  PRECEDENCE[a.status] - PRECEDENCE[b.status] ||
  b.changedMs - a.changedMs ||
  (a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0);
