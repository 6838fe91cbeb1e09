import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { ClusterView, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { Channel } from './channel.ts';
import type { DirectoryMessage, DirectoryRequest } from './supervisordirectory.ts';

interface SupervisedSettings {
  readonly partitions: number;
  readonly leaseTtlMs: number;
}

type RequestContent = DirectoryRequest extends infer Each
  ? Each extends DirectoryRequest
    ? Omit<Each, 'n'>
    : never
  : never;

interface Waiting {
  readonly sentMs: number;
  /** Whether the answer renews the lease, as every request of a member does at the supervisor's directory. */
  readonly renews: boolean;
  /** Deadline of the answer; a later answer would not be trusted. */
  readonly timer: Timer;
  resolve(value: number | readonly number[] | null): void;
  reject(error: Error): void;
}

/** Renewals per lease duration: up to three may be lost or late. */
const RENEWALS = 4;
/** Part of the lease that is not used. Supervisor and shard share one clock but read it at different times. */
const MARGIN = 0.1;
/** Requests that may wait for the supervisor's directory. */
const WAITING_MAX = 64;

/**
 * The directory of a shard whose supervisor keeps membership and ownership (see `Hub`). After the supervisor exits, the lease
 * is no longer renewed and `safeUntilMs` passes.
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
  /** Null while this shard is not a member. */
  #view: ClusterView | null = null;
  #safeUntilMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;

  constructor(channel: Channel, { partitions, leaseTtlMs }: SupervisedSettings, clock: Clock) {
    this.partitions = partitions;
    this.#channel = channel;
    this.#leaseTtlMs = leaseTtlMs;
    this.#clock = clock;
    this.#stop = channel.onMessage((word) => {
      if (!this.#closed) this.#receive(word as DirectoryMessage);
    });
    channel.onClosed(() => this.#shut());
  }

  async worker(): Promise<number> {
    return (await this.#ask({ kind: 'worker' })) as number;
  }

  async enter(self: ShardInfo, listener: DirectoryListener): Promise<void> {
    // A shard that joins owns nothing; the supervisor's directory assumes the same.
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

  #ask(question: RequestContent): Promise<number | readonly number[] | null> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error('The channel to the supervisor is closed.'));
      if (this.#waiting.size >= WAITING_MAX)
        return reject(new Error(`The supervisor is not answering: ${WAITING_MAX} requests are waiting.`));
      this.#asked += 1;
      const n = this.#asked;
      const renews = question.kind !== 'worker';
      const timer = this.#clock.setTimer(() => this.#expire(n), this.#leaseTtlMs);
      this.#waiting.set(n, { sentMs: this.#clock.monotonic(), renews, timer, resolve, reject });
      this.#channel.send({ ...question, n });
    });
  }

  #renew(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(() => this.#renew(), this.#leaseTtlMs / RENEWALS);
    // If the supervisor's directory refuses the renewal, it also sends `lost`.
    this.#ask({ kind: 'renew' }).catch(() => undefined);
  }

  #expire(n: number): void {
    const late = new Error(`The supervisor did not answer within ${this.#leaseTtlMs} ms.`);
    this.#settle(n, ({ reject }) => reject(late));
  }

  #receive(word: DirectoryMessage): void {
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
          if (renews && this.#view) this.#extend(untilMs);
          resolve(word.value);
        });
    }
  }

  #extend(untilMs: number): void {
    this.#safeUntilMs = Math.max(this.#safeUntilMs, untilMs);
    this.#listener?.renewed();
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

  /** Clears the state of the membership, which has ended. */
  #end(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#view = null;
    this.#safeUntilMs = Number.NEGATIVE_INFINITY;
  }

  #shut(): void {
    this.#closed = true;
    this.#timer?.cancel();
    const gone = new Error('The supervisor has exited.');
    for (const n of [...this.#waiting.keys()]) this.#settle(n, ({ reject }) => reject(gone));
  }
}

function moved(
  view: ClusterView,
  { revision, shards, owners: changed }: Extract<DirectoryMessage, { kind: 'moved' }>,
) {
  const owners = [...view.owners];
  for (const [partition, owner] of changed) owners[partition] = owner;
  return { revision, shards, owners };
}
