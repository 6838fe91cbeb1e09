import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { ClusterView, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { Channel } from './channel.ts';
import type { HubQuestion, HubWord } from './hub.ts';

interface SupervisedSettings {
  readonly partitions: number;
  readonly leaseTtlMs: number;
}

type Asked = HubQuestion extends infer Each ? (Each extends HubQuestion ? Omit<Each, 'n'> : never) : never;

interface Waiting {
  readonly sentMs: number;
  /** It is renewed by everything that a member asks, as the hub does. */
  readonly renews: boolean;
  /** Ends the wait: an answer that is as late as that nobody would trust. */
  readonly timer: Timer;
  resolve(value: number | readonly number[] | null): void;
  reject(error: Error): void;
}

/** Renewals within one length of the lease: three may be lost or late. */
const RENEWALS = 4;
/** Part of the lease that is not relied on: the two clocks are one, but for how they are read. */
const MARGIN = 0.1;
/** Questions that may wait for the hub. */
const WAITING_MAX = 64;

/**
 * The directory of a shard whose supervisor keeps membership and ownership: see `Hub`. When the supervisor is gone
 * nothing is renewed any more, and `safeUntilMs` passes.
 */
export const supervisedDirectory = (
  channel: Channel,
  settings: SupervisedSettings,
  clock: Clock,
): Directory => new SupervisedDirectory(channel, settings, clock);

class SupervisedDirectory implements Directory {
  readonly partitions: number;
  readonly #channel: Channel;
  readonly #leaseTtlMs: number;
  readonly #clock: Clock;
  readonly #stop: () => void;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #closed = false;
  #listener: DirectoryListener | null = null;
  /** Null while this shard is no member. */
  #view: ClusterView | null = null;
  #safeUntilMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;

  constructor(channel: Channel, { partitions, leaseTtlMs }: SupervisedSettings, clock: Clock) {
    this.partitions = partitions;
    this.#channel = channel;
    this.#leaseTtlMs = leaseTtlMs;
    this.#clock = clock;
    this.#stop = channel.onMessage((word) => {
      if (!this.#closed) this.#hear(word as HubWord);
    });
    channel.onClosed(() => this.#shut());
  }

  async worker(): Promise<number> {
    return (await this.#ask({ kind: 'worker' })) as number;
  }

  async enter(self: ShardInfo, listener: DirectoryListener): Promise<void> {
    // Whoever enters has nothing, as the hub sees it too.
    this.#end();
    this.#listener = listener;
    await this.#ask({ kind: 'enter', self }).catch((error) => {
      this.#listener = null;
      throw error;
    });
    this.#renew();
  }

  async update(change: Partial<Pick<ShardInfo, 'draining' | 'weight'>>): Promise<void> {
    await this.#ask({ kind: 'update', change });
  }

  async claim(partitions: readonly number[]): Promise<readonly number[]> {
    return (await this.#ask({ kind: 'claim', partitions })) as readonly number[];
  }

  async publish(epochs: ReadonlyMap<number, number>): Promise<void> {
    await this.#ask({ kind: 'publish', epochs: [...epochs] });
  }

  async release(partitions: readonly number[]): Promise<void> {
    await this.#ask({ kind: 'release', partitions });
  }

  async leave(): Promise<void> {
    await this.#ask({ kind: 'leave' });
    this.#listener = null;
    this.#end();
  }

  safeUntilMs(): number {
    return this.#safeUntilMs;
  }

  async close(): Promise<void> {
    this.#stop();
    this.#shut();
  }

  #ask(question: Asked): Promise<number | readonly number[] | null> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error('The channel to the supervisor is closed.'));
      if (this.#waiting.size >= WAITING_MAX) return reject(new Error('The supervisor does not answer.'));
      this.#asked += 1;
      const n = this.#asked;
      const renews = question.kind !== 'worker';
      const timer = this.#clock.setTimer(() => this.#expire(n), this.#leaseTtlMs);
      this.#waiting.set(n, { sentMs: this.#clock.monotonic(), renews, timer, resolve, reject });
      this.#channel.send({ ...question, n } as HubQuestion);
    });
  }

  #renew(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(() => this.#renew(), this.#leaseTtlMs / RENEWALS);
    // What a renewal is refused with, `lost` says too.
    this.#ask({ kind: 'renew' }).catch(() => undefined);
  }

  #expire(n: number): void {
    const late = new Error(`The supervisor has not answered for ${this.#leaseTtlMs} ms.`);
    this.#settle(n, ({ reject }) => reject(late));
  }

  #hear(word: HubWord): void {
    switch (word.kind) {
      case 'view':
        this.#show(word.view);
        break;
      case 'moved':
        if (this.#view) this.#show(moved(this.#view, word));
        break;
      case 'lost':
        this.#lose(word.reason);
        break;
      case 'refused':
        this.#settle(word.n, ({ reject }) => reject(new Error(word.reason)));
        break;
      case 'answer':
        this.#settle(word.n, ({ sentMs, renews, resolve }) => {
          const untilMs = sentMs + this.#leaseTtlMs * (1 - MARGIN);
          if (renews && this.#view) this.#safeUntilMs = Math.max(this.#safeUntilMs, untilMs);
          resolve(word.value);
        });
    }
  }

  #settle(n: number, end: (asked: Waiting) => void): void {
    const found = this.#waiting.get(n);
    this.#waiting.delete(n);
    found?.timer.cancel();
    if (found) end(found);
  }

  #show(view: ClusterView): void {
    this.#view = view;
    this.#listener?.changed(view);
  }

  #lose(reason: string): void {
    const listener = this.#listener;
    this.#listener = null;
    this.#end();
    listener?.lost(reason);
  }

  /** We are no member any more. */
  #end(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#view = null;
    this.#safeUntilMs = Number.NEGATIVE_INFINITY;
  }

  #shut(): void {
    this.#closed = true;
    this.#timer?.cancel();
    const gone = new Error('The supervisor is gone.');
    for (const n of [...this.#waiting.keys()]) this.#settle(n, ({ reject }) => reject(gone));
  }
}

function moved(
  view: ClusterView,
  { revision, shards, owners: changed }: Extract<HubWord, { kind: 'moved' }>,
) {
  const owners = [...view.owners];
  for (const [partition, owner] of changed) owners[partition] = owner;
  return { revision, shards, owners };
}
