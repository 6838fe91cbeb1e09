import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';
import type { DaveEffect } from './delivery.ts';

interface Receiver {
  readonly userId: string;
}

/** Collects the effects of one input, in the order in which they are to be carried out. */
export class Outbox {
  private effects: DaveEffect[] = [];

  json(to: readonly Receiver[], op: ServerVoiceOp, d: object): void {
    if (to.length > 0) this.effects.push({ type: 'json', to: to.map(({ userId }) => userId), op, d });
  }

  binary(to: readonly Receiver[], op: ServerVoiceOp, payload: Uint8Array): void {
    if (to.length > 0) this.effects.push({ type: 'binary', to: to.map(({ userId }) => userId), op, payload });
  }

  count(what: 'transition' | 'commit' | 'recovery', result: string): void {
    this.effects.push({ type: 'counted', what, result });
  }

  close(userId: string, { code, reason }: { readonly code: number; readonly reason: string }): void {
    this.effects.push({ type: 'close', userId, code, reason });
  }

  take(): readonly DaveEffect[] {
    const effects = this.effects;
    this.effects = [];
    return effects;
  }
}
