import type { Identify } from '../../actors/session/ports.ts';
import type { Chaos, TimedStrikes } from '../../engine/chaos/chaos.ts';
import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { GatewayRule, VoiceRule } from '../../protocol/chaos.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { isRecord } from '../../protocol/json.ts';
import { OP } from '../../protocol/opcodes.ts';
import { ChaosQueue, type ChaosTimers } from './chaosqueue.ts';
import { type Dialect, GatewaySocket, type RawSocket, type SocketHost } from './socket.ts';

const REASONS: ReadonlyMap<number, string> = new Map(
  Object.values(CLOSE).map(({ code, reason }) => [code, reason]),
);

/** The user of READY, which is sent before the connection has its session. */
function readyUser({ t, d }: DispatchBody): string | null {
  const user = t === 'READY' && isRecord(d) ? d.user : null;
  return isRecord(user) && typeof user.id === 'string' ? user.id : null;
}

/** A gateway connection on which failures are injected; used only by servers with failure injection. */
export class ChaoticGatewaySocket extends GatewaySocket {
  readonly #chaos: Chaos;
  readonly #queue: ChaosQueue;
  readonly #struck: TimedStrikes = new Map();
  /** The connection stays open, and nothing passes in either direction. */
  #isZombie = false;

  constructor(
    address: string,
    dialect: Dialect,
    host: SocketHost,
    given: { chaos: Chaos; timers: ChaosTimers },
  ) {
    super(address, dialect, host);
    this.#chaos = given.chaos;
    this.#queue = new ChaosQueue(given.timers);
  }

  get #userId(): string | null {
    return this.session?.principal.userId ?? null;
  }

  override opened(ws: RawSocket): void {
    this.#chaos.opened(this.#struck);
    super.opened(ws);
  }

  override received(bytes: Uint8Array, binary: boolean): void {
    if (!this.#isZombie) super.received(bytes, binary);
  }

  override dispatch(body: DispatchBody, seq: number): void {
    if (this.#isZombie) return;
    const userId = this.#userId ?? readyUser(body);
    const rule = this.#chaos.dispatch({ name: body.t, userId });
    if (rule?.do === 'drop') return;
    this.#queue.push(() => super.dispatch(body, seq), rule?.do === 'delay' ? rule.ms : 0);
    if (rule && rule.do !== 'delay') this.#fail(rule);
  }

  override send(op: number, d: unknown): void {
    if (!this.#isZombie) this.#queue.push(() => super.send(op, d), 0);
  }

  override heartbeat(seq: number | null): void {
    if (this.#passes('HEARTBEAT')) super.heartbeat(seq);
  }

  override identify(identify: Omit<Identify, 'version'>, compress: boolean): void {
    if (this.#passes('IDENTIFY')) super.identify(identify, compress);
  }

  override resume(resume: {
    readonly token: string;
    readonly sessionId: string;
    readonly seq: number;
  }): void {
    if (this.#passes('RESUME')) super.resume(resume);
  }

  override sweep(nowMs: number): void {
    for (const rule of this.#chaos.due('gateway', this.#userId, this.#struck)) this.#fail(rule);
    // The server does not notice a dead connection before its client does.
    if (!this.#isZombie) super.sweep(nowMs);
  }

  override closed(code: number): void {
    this.#queue.clear();
    super.closed(code);
  }

  override close(code: number, reason: string): void {
    if (this.#isZombie) this.terminate();
    else super.close(code, reason);
  }

  #passes(opcode: string): boolean {
    const rule = this.#chaos.opcode('gateway', { name: opcode, userId: this.#userId });
    if (rule) this.#fail(rule);
    return rule === null;
  }

  #fail(rule: GatewayRule | VoiceRule): void {
    switch (rule.do) {
      case 'close':
        this.close(rule.code, REASONS.get(rule.code) ?? '');
        break;
      case 'reconnect':
        this.send(OP.RECONNECT, null);
        break;
      case 'invalid_session':
        this.invalidate(rule.resumable ?? false);
        break;
      case 'zombie':
        this.#isZombie = true;
        this.#queue.clear();
    }
  }
}
