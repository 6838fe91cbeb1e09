import type { VoiceIdentify, VoiceRelays, VoiceResume } from '../../actors/call/ports.ts';
import type { Chaos, TimedStrikes } from '../../engine/chaos/chaos.ts';
import type { GatewayRule, VoiceRule } from '../../protocol/chaos.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';
import type { Heartbeat } from './opcodes/opcode.ts';
import { type VoiceHost, VoiceSocket } from './socket.ts';

const REASONS: ReadonlyMap<number, string> = new Map(
  Object.values(VOICE_CLOSE).map(({ code, reason }) => [code, reason]),
);

/** A connection of the voice gateway on which failures are injected; used only by servers with failure injection. */
export class ChaoticVoiceSocket extends VoiceSocket {
  readonly #chaos: Chaos;
  readonly #struck: TimedStrikes = new Map();
  /** The user that IDENTIFY named. A connection that resumes names none. */
  #identifiedUserId: string | null = null;
  /** The connection stays open, and nothing passes in either direction. */
  #isZombie = false;

  constructor(
    address: string,
    version: number,
    host: VoiceHost,
    chaos: Chaos,
    relays: VoiceRelays | null = null,
  ) {
    super(address, version, host, relays);
    this.#chaos = chaos;
    chaos.opened(this.#struck);
  }

  get #userId(): string | null {
    return this.sessionUserId ?? this.#identifiedUserId;
  }

  override received(bytes: Uint8Array, binary: boolean): void {
    if (!this.#isZombie) super.received(bytes, binary);
  }

  override send(op: ServerVoiceOp, d: unknown, seq: number | null): void {
    if (!this.#isZombie) super.send(op, d, seq);
  }

  override sendBinary(op: ServerVoiceOp, payload: Uint8Array, seq: number): void {
    if (!this.#isZombie) super.sendBinary(op, payload, seq);
  }

  override heartbeat(d: Heartbeat, seqAck: number | null): void {
    if (this.#passes('HEARTBEAT')) super.heartbeat(d, seqAck);
  }

  override identify(identify: Omit<VoiceIdentify, 'version'>): void {
    this.#identifiedUserId = identify.userId;
    if (this.#passes('IDENTIFY')) super.identify(identify);
  }

  override resume(resume: Omit<VoiceResume, 'version'>): void {
    if (this.#passes('RESUME')) super.resume(resume);
  }

  override sweep(nowMs: number): void {
    for (const rule of this.#chaos.due('voice', this.#userId, this.#struck)) this.#fail(rule);
    if (!this.#isZombie) super.sweep(nowMs);
  }

  override close(code: number, reason: string): void {
    if (this.#isZombie) this.terminate();
    else super.close(code, reason);
  }

  #passes(opcode: string): boolean {
    const rule = this.#chaos.opcode('voice', { name: opcode, userId: this.#userId });
    if (rule) this.#fail(rule);
    return rule === null;
  }

  #fail(rule: GatewayRule | VoiceRule): void {
    if (rule.do === 'close') this.close(rule.code, REASONS.get(rule.code) ?? '');
    else if (rule.do === 'zombie') this.#isZombie = true;
  }
}
