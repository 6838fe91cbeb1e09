import type { LinkHandler, Links } from '../../actors/cluster/ports.ts';
import type { AskContext, LinkFrame, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { LinkFault } from '../../protocol/faults.ts';
import { Secret } from '../../protocol/secret.ts';

/** The value as it arrives at the other end of a link. @throws TypeError for a value that no link could carry. */
function carried<T>(value: T): T {
  const copy = (part: unknown): unknown => {
    if (part === null || typeof part !== 'object') {
      if (typeof part === 'function' || typeof part === 'symbol')
        throw new TypeError(`A ${typeof part} does not travel.`);
      return part;
    }
    if (part instanceof Secret) return new Secret(part.reveal());
    if (part instanceof Uint8Array) return Buffer.from(part);
    if (part instanceof Uint32Array || part instanceof Date) return structuredClone(part);
    if (part instanceof Map) return new Map([...part].map(([key, each]) => [copy(key), copy(each)]));
    if (part instanceof Set) return new Set([...part].map(copy));
    if (Array.isArray(part)) return part.map(copy);
    const prototype: unknown = Object.getPrototypeOf(part);
    if (prototype !== Object.prototype && prototype !== null)
      throw new TypeError(`A ${part.constructor.name} does not travel.`);
    return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, copy(each)]));
  };
  return copy(value) as T;
}

interface End {
  readonly shardId: string;
  readonly handler: () => LinkHandler;
  readonly onBroken: ((shardId: string) => void)[];
}

/** Links between shards of one process. Each direction of each pair is in order; requests overtake notifications. */
export class MemoryNet {
  readonly #clock: Clock;
  readonly #ends = new Map<string, End>();
  /** Frames that were sent and have not arrived, by `from>to`. */
  readonly #queues = new Map<string, LinkFrame[]>();
  /** How long a batch takes, milliseconds; to be changed by a test that wants disorder between links. */
  delayMs: () => number = () => 0;
  /** Frames that were sent, in order; for tests that count them. */
  readonly told: { readonly from: string; readonly to: string; readonly frame: LinkFrame }[] = [];

  /** Methods that were asked for, in order. */
  readonly asked: string[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(self: ShardInfo, handler: () => LinkHandler): Links {
    const from = self.id;
    const end: End = { shardId: from, handler, onBroken: [] };
    this.#ends.set(from, end);
    return {
      ask: (to, method, args, context) => this.#ask(end, to, method, args, context),
      tell: (to, frame) => this.#tell(end, to, frame),
      onBroken: (run) => end.onBroken.push(run),
      follow: () => undefined,
      close: async () => this.kill(from),
    };
  }

  /** Nothing comes from this shard any more, and nothing reaches it. */
  kill(shardId: string): void {
    this.#ends.delete(shardId);
    for (const key of this.#queues.keys())
      if (key.startsWith(`${shardId}>`) || key.endsWith(`>${shardId}`)) this.#queues.delete(key);
  }

  /** Loses what is in flight between two shards, both ways; each is notified of both breaks. */
  break(a: string, b: string): void {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      this.#queues.delete(`${from}>${to}`);
      for (const run of this.#ends.get(from)?.onBroken ?? []) run(to);
      this.#ends.get(to)?.handler().broken(from);
    }
  }

  async #ask(
    end: End,
    to: string,
    method: string,
    args: readonly unknown[],
    context: AskContext,
  ): Promise<unknown> {
    const sent = carried(args);
    this.asked.push(method);
    await this.#pass();
    const other = this.#ends.get(to);
    if (!other || !this.#ends.has(end.shardId)) throw new LinkFault('unreachable', `No way to ${to}.`);
    const answer = await other.handler().ask(end.shardId, method, sent, { ...context });
    const brought = carried(answer);
    await this.#pass();
    if (this.#ends.get(to) !== other) throw new LinkFault('lost', `${to} is gone.`);
    return brought;
  }

  #tell(end: End, to: string, frame: LinkFrame): void {
    if (!this.#ends.has(to) || this.#ends.get(end.shardId) !== end) return;
    const key = `${end.shardId}>${to}`;
    const copy = carried(frame);
    this.told.push({ from: end.shardId, to, frame: copy });
    const queue = this.#queues.get(key);
    if (queue) {
      queue.push(copy);
      return;
    }
    const fresh = [copy];
    this.#queues.set(key, fresh);
    void this.#pass().then(() => {
      if (this.#queues.get(key) !== fresh) return;
      this.#queues.delete(key);
      this.#ends.get(to)?.handler().notified(end.shardId, fresh);
    });
  }

  #pass(): Promise<void> {
    const delayMs = this.delayMs();
    return new Promise((resolve) => {
      if (delayMs > 0) this.#clock.setTimer(resolve, delayMs);
      else setImmediate(resolve);
    });
  }
}
