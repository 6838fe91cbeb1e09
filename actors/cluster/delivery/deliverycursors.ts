import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { isDirect, SINCE } from '../../../engine/fanout/direct.ts';
import type { Cursor } from '../../../engine/session/cursors.ts';
import type { LiveSession } from '../../session/backend.ts';

interface DeliveryCursorPorts {
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** As long as the database keeps what was told: nothing older comes again. */
  readonly recordAgeMs: number;
}

/** Of more streams than this in that time some may be heard twice. */
const STREAMS_MAX = 8_192;

interface LastDelivered {
  readonly n: number;
  readonly atMs: number;
}

interface SessionCursors {
  readonly session: LiveSession;
  readonly sinceMs: number;
  readonly last: Map<string, LastDelivered>;
}

/**
 * How far the sessions of this shard have heard the streams that their users are told directly: what comes again, by
 * another way or from another owner, is not delivered again.
 */
export class DeliveryCursors {
  readonly #ports: DeliveryCursorPorts;
  readonly #sessions = new WeakMap<object, SessionCursors>();

  constructor(ports: DeliveryCursorPorts) {
    this.#ports = ports;
  }

  /** A session is at home here: a new one, or with the cursors that it has come with. */
  begin(session: LiveSession, cursors: readonly Cursor[] | null): void {
    const atMs = this.#ports.nowMs();
    const known = this.#sessions.get(session);
    const last = known?.last ?? new Map<string, LastDelivered>();
    let sinceMs = known?.sinceMs ?? (cursors === null ? atMs : 0);
    for (const [streamId, n] of cursors ?? [])
      if (streamId === SINCE) sinceMs = n;
      else if (isDirect(streamId) && n > (last.get(streamId)?.n ?? 0)) last.set(streamId, { n, atMs });
    this.#sessions.set(session, { session, sinceMs, last });
    session.following(SINCE, sinceMs);
  }

  /** What it goes on from with the next owner of its user. */
  cursors(session: LiveSession): readonly Cursor[] {
    const cursors = this.#sessions.get(session);
    if (!cursors) return [];
    return [
      [SINCE, cursors.sinceMs],
      ...[...cursors.last].map(([streamId, { n }]) => [streamId, n] as const),
    ];
  }

  /** Delivers what the session has not heard; one that is at home elsewhere looks there. */
  readonly deliver = (session: Pick<LiveSession, 'deliver'>, body: DispatchBody): void => {
    const { origin } = body;
    const cursors = origin && isDirect(origin.ownerId) ? this.#sessions.get(session) : undefined;
    if (origin && cursors) {
      const { ownerId: streamId, n } = origin;
      const before = cursors.last.get(streamId);
      if (before && n <= before.n) return;
      // The last that was heard stands last.
      if (before) cursors.last.delete(streamId);
      else cursors.session.following(streamId, n - 1);
      cursors.last.set(streamId, { n, atMs: this.#ports.nowMs() });
      if (!before) this.#trim(cursors);
    }
    session.deliver(body);
  };

  /** Forgets what cannot come again. */
  #trim({ session, last }: SessionCursors): void {
    const fromMs = this.#ports.nowMs() - this.#ports.recordAgeMs * 2;
    for (const [streamId, { atMs }] of last) {
      if (last.size <= STREAMS_MAX && atMs >= fromMs) return;
      last.delete(streamId);
      session.left?.(streamId);
    }
  }
}
