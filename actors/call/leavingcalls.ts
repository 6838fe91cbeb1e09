import { VOICE_CLOSE } from '../../protocol/voice.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { CallActor } from './call.shell.ts';

interface LeavingCall {
  readonly end: () => void;
  timer: Timer;
}

/** How long connections of a call are kept that moved to another shard, and of one whose owner waits for the database. */
const KEPT_MS = { moved: 5_000, interrupted: 60_000 };
/** How long they are kept when the call is back here: members of a lobby are sent their endpoints one after the other. */
const RETURNED_MS = 1_500;

/**
 * Calls that continue on another shard, or here when their owner is loaded again, while connections are still open. Clients stay
 * connected until they receive the new endpoint, and then leave by themselves. A client that is disconnected before would
 * reconnect here; a client that received VOICE_SERVER_UPDATE without an endpoint would be silent meanwhile, and bots written as
 * the published guide shows give up after five seconds of that.
 */
export class LeavingCalls {
  readonly #wheel: Wheel;
  readonly #byId = new Map<string, LeavingCall>();

  constructor(wheel: Wheel) {
    this.#wheel = wheel;
  }

  get size(): number {
    return this.#byId.size;
  }

  add(call: CallActor, because: keyof typeof KEPT_MS): void {
    const { callId } = call;
    for (const participant of call.places.values()) participant.leave();
    this.#byId.get(callId)?.end();
    const end = (): void => {
      leaving.timer.cancel();
      if (this.#byId.get(callId) === leaving) this.#byId.delete(callId);
      call.terminate(VOICE_CLOSE.SERVER_CRASHED);
    };
    const leaving = { end, timer: this.#wheel.add(end, KEPT_MS[because]) };
    this.#byId.set(callId, leaving);
  }

  /** The call, if it left, is back on this shard. */
  returned(callId: string): void {
    const leaving = this.#byId.get(callId);
    if (!leaving) return;
    leaving.timer.cancel();
    leaving.timer = this.#wheel.add(leaving.end, RETURNED_MS);
  }

  end(): void {
    for (const { end } of [...this.#byId.values()]) end();
  }
}
