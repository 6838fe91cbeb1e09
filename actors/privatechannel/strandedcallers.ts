import type { UserId } from '../../protocol/ids.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface StrandedCallerPorts {
  readonly wheel: Wheel;
  /** How long a session without a connection, also one of a lost shard, can be resumed. */
  readonly resumeWindowMs: number;
  /** Whether the user still has the session; rejects while no shard owns the user. */
  readonly keepsSession: (userId: UserId, sessionId: string) => Promise<boolean>;
  /** The users in the call now. */
  readonly callers: () => Iterable<readonly [UserId, { readonly session_id: string }]>;
  readonly drop: (userId: UserId, sessionId: string) => void;
}

/** How long a session that is resumed in time may take until the owner of its user has it. */
const REOPENED_MS = 5_000;

/**
 * Removes callers whose session no shard has: when the session's shard and its user's owner are lost together,
 * nothing else ends the session's part in the call.
 */
export class StrandedCallers {
  readonly #ports: StrandedCallerPorts;
  /** The last look that was planned; it may have begun. */
  #look: Timer | null = null;

  constructor(ports: StrandedCallerPorts) {
    this.#ports = ports;
  }

  /**
   * Owners have changed: looks once they have not changed for as long as a session may be away.
   *
   * @param delayMs 0 in one process, which knows all sessions.
   */
  lookLater(delayMs = this.#ports.resumeWindowMs + REOPENED_MS): void {
    const { wheel, keepsSession, callers, drop } = this.#ports;
    this.#look?.cancel();
    const look = wheel.add(() => {
      for (const [userId, { session_id: sessionId }] of callers())
        keepsSession(userId, sessionId).then(
          (isKept) => {
            if (!isKept && this.#look === look) drop(userId, sessionId);
          },
          () => {
            if (this.#look === look) this.lookLater();
          },
        );
    }, delayMs);
    this.#look = look;
  }

  end(): void {
    this.#look?.cancel();
    this.#look = null;
  }
}
