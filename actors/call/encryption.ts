import { type DavePhase, davePhase } from '../../engine/call/encryption.ts';
import type { DaveDelivery, DaveEffect } from '../../media/dave/delivery.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { type CallSession, type Close, weightOf } from './session.ts';

interface EncryptionHost {
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** The session of a member that has received the protocol version, or null. */
  described(userId: string): CallSession | null;
  /** The phase may have changed. The first phase is `plain`. */
  settled(phase: DavePhase): void;
  counted(what: string, result: string): void;
  /** The member violated the protocol or sent too much. */
  expel(session: CallSession, close: Close): void;
}

/** Runs the DAVE delivery service of one call: forwards its frames and runs its timers. */
export class CallEncryption {
  readonly #delivery: DaveDelivery;
  readonly #host: EncryptionHost;
  #timer: Timer | null = null;

  constructor(delivery: DaveDelivery, host: EncryptionHost) {
    this.#delivery = delivery;
    this.#host = host;
  }

  get version(): number {
    return this.#delivery.version;
  }

  get epoch(): bigint | null {
    return this.#delivery.epoch;
  }

  get phase(): DavePhase {
    return davePhase(this.#delivery);
  }

  /** The protocol version that the member uses now. */
  versionOf({ maxDaveVersion }: CallSession): number {
    return Math.min(this.#delivery.version, maxDaveVersion);
  }

  /**
   * Adds a member. `describe` sends its Session Description with the DAVE version. It runs before any frame of the
   * group is sent, because clients drop earlier frames.
   */
  join(session: CallSession, describe: (version: number) => void): void {
    const effects = this.#delivery.join(session.userId, session.maxDaveVersion, this.#host.nowMs());
    describe(this.versionOf(session));
    this.#run(effects);
  }

  leave(userId: string): void {
    this.#run(this.#delivery.leave(userId, this.#host.nowMs()));
  }

  received(userId: string, op: number, payload: Uint8Array): void {
    this.#run(this.#delivery.received(userId, op, payload, this.#host.nowMs()));
  }

  ready(userId: string, transitionId: number): void {
    this.#run(this.#delivery.transitionReady(userId, transitionId, this.#host.nowMs()));
  }

  invalid(userId: string, transitionId: number): void {
    this.#run(this.#delivery.invalidCommitWelcome(userId, transitionId, this.#host.nowMs()));
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #run(effects: readonly DaveEffect[]): void {
    const closes: (() => void)[] = [];
    for (const effect of effects) {
      if (effect.type === 'json' || effect.type === 'binary') this.#send(effect);
      else if (effect.type === 'counted') this.#host.counted(effect.what, effect.result);
      else
        closes.push(() => {
          const session = this.#host.described(effect.userId);
          if (session) this.#host.expel(session, effect);
        });
    }
    this.#settle();
    // Runs last: an expelled member leaves the group, which produces further effects.
    for (const close of closes) close();
  }

  #send(effect: DaveEffect & { readonly type: 'json' | 'binary' }): void {
    const weightBytes = effect.type === 'json' ? weightOf(effect.d) : 0;
    for (const userId of effect.to) {
      const session = this.#host.described(userId);
      if (effect.type === 'json') session?.send(effect.op, effect.d, weightBytes);
      else session?.sendBinary(effect.op, effect.payload);
    }
  }

  #settle(): void {
    const { deadlineMs } = this.#delivery;
    this.#timer?.cancel();
    this.#timer =
      deadlineMs === null
        ? null
        : this.#host.wheel.add(() => this.#tick(), Math.max(0, deadlineMs - this.#host.nowMs()));
    this.#host.settled(this.phase);
  }

  #tick(): void {
    this.#run(this.#delivery.tick(this.#host.nowMs()));
  }
}
