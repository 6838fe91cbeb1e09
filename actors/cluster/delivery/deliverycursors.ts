import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { isDirect, SINCE } from '../../../engine/fanout/direct.ts';
import type { Cursor } from '../../../engine/session/cursors.ts';
import type { LiveSession } from '../../session/backend.ts';

interface DeliveryCursorPorts {
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** How long the database keeps records of notifications: nothing older is sent again. */
  readonly recordAgeMs: number;
}

/** Upper bound on the tracked streams of one session; dispatches of evicted streams may be delivered twice. */
const STREAMS_MAX = 8_192;

interface LastDelivered {
  readonly n: number;
  readonly atMs: number;
}

interface SessionCursors {
  readonly session: LiveSession;
  readonly sinceMs: number;
  /** By stream, the most recently used one last. Null before the first. */
  last: Map<string, LastDelivered> | null;
}

/**
 * Per-session cursors of direct notifications. A dispatch that arrives again, by another path or from another owner, is
 * not delivered again.
 */
export class DeliveryCursors {
  readonly #ports: DeliveryCursorPorts;
  readonly #sessions = new WeakMap<object, SessionCursors>();

  constructor(ports: DeliveryCursorPorts) {
    this.#ports = ports;
  }

  /**
   * Starts the cursors of a session that is about to be opened. A repeated opening starts them again, except those of streams whose
   * dispatches the session keeps from the previous attempt.
   */
  beginOpening(session: LiveSession): void {
    const sinceMs = this.#ports.nowMs();
    const kept = session.feed?.dropOutdated();
    const last = this.#sessions.get(session)?.last ?? null;
    for (const streamId of last?.keys() ?? [])
      if (!kept?.has(streamId)) {
        last?.delete(streamId);
        session.left?.(streamId);
      }
    this.#sessions.set(session, { session, sinceMs, last });
    session.following(SINCE, sinceMs);
  }

  /** Starts the cursors of a session that moved here with them. */
  begin(session: LiveSession, cursors: readonly Cursor[]): void {
    const atMs = this.#ports.nowMs();
    const known = this.#sessions.get(session);
    let last = known?.last ?? null;
    let sinceMs = known?.sinceMs ?? 0;
    for (const [streamId, n] of cursors)
      if (streamId === SINCE) sinceMs = n;
      else if (isDirect(streamId) && n > (last?.get(streamId)?.n ?? 0)) {
        last ??= new Map();
        last.set(streamId, { n, atMs });
      }
    this.#sessions.set(session, { session, sinceMs, last });
    session.following(SINCE, sinceMs);
  }

  /** The cursors from which the next owner of the user continues. */
  cursors(session: LiveSession): readonly Cursor[] {
    const cursors = this.#sessions.get(session);
    if (!cursors) return [];
    return [
      [SINCE, cursors.sinceMs],
      ...[...(cursors.last ?? [])].map(([streamId, { n }]) => [streamId, n] as const),
    ];
  }

  /** Delivers a dispatch unless the session already has it. A session of another shard is checked there. */
  readonly deliver = (session: Pick<LiveSession, 'deliver'>, body: DispatchBody): void => {
    const { origin } = body;
    const cursors = origin && isDirect(origin.ownerId) ? this.#sessions.get(session) : undefined;
    if (origin && cursors) {
      const { ownerId: streamId, n } = origin;
      cursors.last ??= new Map();
      const { last } = cursors;
      const before = last.get(streamId);
      if (before && n <= before.n) return;
      // Most recently used last; `#trim` evicts from the front.
      if (before) last.delete(streamId);
      else cursors.session.following(streamId, n - 1);
      last.set(streamId, { n, atMs: this.#ports.nowMs() });
      if (!before) this.#trim(cursors.session, last);
    }
    session.deliver(body);
  };

  /** Evicts streams whose dispatches can no longer be sent again. */
  #trim(session: LiveSession, last: Map<string, LastDelivered>): void {
    const fromMs = this.#ports.nowMs() - this.#ports.recordAgeMs * 2;
    for (const [streamId, { atMs }] of last) {
      if (last.size <= STREAMS_MAX && atMs >= fromMs) return;
      last.delete(streamId);
      session.left?.(streamId);
    }
  }
}
