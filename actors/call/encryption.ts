import { type DavePhase, davePhase, transitionOpened } from '../../engine/call/encryption.ts';
import type { DaveDelivery, DaveEffect } from '../../media/dave/delivery.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { type CallSession, type Close, weightOf } from './session.ts';

interface EncryptionHost {
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** The session of a member that has received the protocol version, or null. */
  described(userId: string): CallSession | null;
  /** Called when the phase changes. The first phase is `plain`. */
  phase(phase: DavePhase): void;
  counted(what: string, result: string): void;
  /** The member violated the protocol or sent too much. */
  expel(session: CallSession, close: Close): void;
}

/**
 * Runs the DAVE delivery service of one call: forwards its frames, runs its timers and reports the phase of the group.
 */
export class CallEncryption {
  readonly #delivery: DaveDelivery;
  readonly #host: EncryptionHost;
  #phase: DavePhase = 'plain';
  /** The latest transition that was announced and not executed; 0 for none. */
  #transition = 0;
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
    return this.#phase;
  }

  /**
   * Adds a member. `describe` sends its Session Description with the DAVE version. It runs before any frame of the
   * group is sent, because clients drop earlier frames.
   */
  join(session: CallSession, describe: (version: number) => void): void {
    const effects = this.#delivery.join(session.userId, session.maxDaveVersion, this.#host.nowMs());
    describe(Math.min(this.#delivery.version, session.maxDaveVersion));
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
    this.#note(effect);
    const weightBytes = effect.type === 'json' ? weightOf(effect.d) : 0;
    for (const userId of effect.to) {
      const session = this.#host.described(userId);
      if (effect.type === 'json') session?.send(effect.op, effect.d, weightBytes);
      else session?.sendBinary(effect.op, effect.payload);
    }
  }

  #note(effect: DaveEffect & { readonly type: 'json' | 'binary' }): void {
    if (effect.op === VOICE_OP.DAVE_PREPARE_EPOCH) this.#transition = 0;
    const step = transitionOpened(effect);
    if (step === null) return;
    if ('opened' in step) this.#transition = step.opened;
    else if (step.executed === this.#transition) this.#transition = 0;
  }

  #settle(): void {
    const { deadlineMs } = this.#delivery;
    this.#timer?.cancel();
    this.#timer =
      deadlineMs === null
        ? null
        : this.#host.wheel.add(() => this.#tick(), Math.max(0, deadlineMs - this.#host.nowMs()));
    // A transition without a deadline is finished, whatever its outcome.
    const phase = davePhase(this.#delivery, this.#transition !== 0 && deadlineMs !== null);
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#host.phase(phase);
  }

  #tick(): void {
    this.#run(this.#delivery.tick(this.#host.nowMs()));
  }
}
