import { Etcd3, type ICompare, type IOptions, type IRequestOp } from 'etcd3';
import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { Owner, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type * as Lease from '../../engine/placement/lease.ts';
import { EtcdKeys, EtcdModel, endOf } from './etcd.model.ts';
import { Renewals, watchKeys } from './etcd.streams.ts';

interface EtcdSettings {
  readonly urls: readonly string[];
  readonly username: string | null;
  readonly password: string | null;
  /** CA certificates for etcd, PEM; null uses those of the system. */
  readonly ca: Buffer | null;
  readonly clusterId: string;
  readonly partitions: number;
  /** Rounded up to whole seconds, etcd's unit. */
  readonly leaseTtlMs: number;
}

interface EtcdDeps {
  readonly clock: Clock;
  /** The arithmetic of leases. */
  readonly lease: Pick<typeof Lease, 'safeUntilMs' | 'renewalEveryMs'>;
  /** Returns 0 to 1; spreads the worker numbers of shards that start together. */
  readonly random: () => number;
  /** Called with faults of operations that are retried. */
  readonly onFault: (error: unknown, what: string) => void;
}

const WORKERS = 1024;
/** Most operations of one transaction: etcd allows 128 by default, nested ones included. */
const OPERATIONS_MAX = 100;
const CALL_MS = 3_000;
const RETRY_MS = 250;
/** Bound of a message; the values of 65,536 partitions take 10 MB. */
const MESSAGE_BYTES_MAX = 64 << 20;

/** Disables the client's retries: the callers know whether an operation may be repeated. */
const PLAIN = { execute: async (run: (context: never) => unknown) => run({} as never) };

/**
 * The directory of shards on many machines, in etcd. Members, owners and worker numbers are keys under one lease per shard,
 * written by transactions. Every request has a deadline.
 *
 * @source https://etcd.io/docs/v3.4/dev-guide/api_reference_v3/; a lease's time starts when etcd receives the renewal
 */
export const etcdDirectory = (settings: EtcdSettings, deps: EtcdDeps): Directory =>
  new EtcdDirectory(settings, deps);

function clientOf({ urls, username, password, ca }: EtcdSettings): Etcd3 {
  const plain = PLAIN as unknown as NonNullable<NonNullable<IOptions['faultHandling']>['global']>;
  return new Etcd3({
    hosts: [...urls],
    ...(ca && { credentials: { rootCertificate: ca } }),
    ...(username !== null && { auth: { username, password: password ?? '' } }),
    faultHandling: { global: plain, host: () => plain },
    defaultCallOptions: ({ isStream }) => (isStream ? {} : { deadline: Date.now() + CALL_MS }),
    grpcOptions: {
      // etcd treats pings more often than every five seconds as an attack.
      'grpc.keepalive_time_ms': 6_000,
      'grpc.keepalive_timeout_ms': 3_000,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
      'grpc.enable_http_proxy': 0,
    },
  });
}

interface HeldLease {
  readonly id: string;
  readonly ttlMs: number;
}

class EtcdDirectory implements Directory {
  readonly partitions: number;
  readonly #settings: EtcdSettings;
  readonly #deps: EtcdDeps;
  readonly #etcd: Etcd3;
  readonly #keys: EtcdKeys;
  readonly #renewals: Renewals;
  #model: EtcdModel;
  #lease: HeldLease | null = null;
  #safeUntilMs = Number.NEGATIVE_INFINITY;
  #worker: { readonly number: number; readonly lease: string } | null = null;
  #self: ShardInfo | null = null;
  #listener: DirectoryListener | null = null;
  #unwatch: (() => void) | null = null;
  /** Incremented to stop the current watch. */
  #watching = 0;
  /** Promises that wait until the watch has reached a revision. */
  readonly #waiting = new Set<{ readonly revision: number; settle(error: Error | null): void }>();
  readonly #timers = new Set<Timer>();
  #closed = false;

  constructor(settings: EtcdSettings, deps: EtcdDeps) {
    this.partitions = settings.partitions;
    this.#settings = settings;
    this.#deps = deps;
    this.#etcd = clientOf(settings);
    this.#keys = new EtcdKeys(settings.clusterId);
    this.#model = new EtcdModel(this.#keys, settings.partitions);
    this.#renewals = new Renewals(this.#etcd, deps.clock);
  }

  safeUntilMs(): number {
    return this.#listener ? this.#safeUntilMs : Number.NEGATIVE_INFINITY;
  }

  async worker(): Promise<number> {
    await this.#agree();
    const { id } = this.#lease ?? (await this.#grant());
    if (this.#worker?.lease === id) return this.#worker.number;
    const taken = new Set(await this.#workersTaken());
    const start = Math.floor(this.#deps.random() * WORKERS);
    const all = Array.from({ length: WORKERS }, (_, n) => (start + n) % WORKERS);
    for (const number of [...(this.#worker ? [this.#worker.number] : []), ...all]) {
      if (taken.has(number)) continue;
      const put = { key: this.#bytes(this.#keys.workers, number), value: Buffer.from('taken'), lease: id };
      const [won] = await this.#commit([ifAbsent(put)]);
      if (!won) continue;
      this.#worker = { number, lease: id };
      return number;
    }
    throw new Error(`All ${WORKERS} worker numbers are in use.`);
  }

  async enter(self: ShardInfo, listener: DirectoryListener): Promise<void> {
    await this.#agree();
    const { id: lease } = this.#lease ?? (await this.#grant());
    const [entered] = await this.#commit([ifAbsent({ ...this.#member(self), lease })]);
    if (!entered && !(await this.#isEntered(self, lease)))
      throw new Error(
        `Another run of ${self.id} is still a member; it must leave or its lease must expire first.`,
      );
    this.#self = self;
    try {
      await this.#sync();
    } catch (error) {
      this.#revoke();
      throw error;
    }
    if (this.#lease?.id !== lease)
      throw new Error('The lease expired before the shard had joined the cluster.');
    this.#listener = listener;
    this.#follow(this.#watching);
    listener.changed(this.#model.view);
  }

  async update(change: Partial<Pick<ShardInfo, 'draining' | 'weight'>>): Promise<void> {
    const { self, lease } = this.#membership();
    this.#self = { ...self, ...change };
    await this.#commit([{ request_put: { ...this.#member(this.#self), lease } }]);
  }

  async claim(partitions: readonly number[]): Promise<readonly number[]> {
    const { self, lease } = this.#membership();
    const value = ownerBytes({ shardId: self.id, instance: self.instance, epoch: 0 });
    const operations = partitions.map((at) =>
      ifAbsent({ key: this.#bytes(this.#keys.owners, at), value, lease }),
    );
    const won = await this.#commit(operations);
    return partitions.filter((_, index) => won[index]);
  }

  async publish(epochs: ReadonlyMap<number, number>): Promise<void> {
    const { self, lease } = this.#membership();
    const ours = [...epochs].filter(([partition]) => this.#isOurs(partition));
    const operations = ours.map(([partition, epoch]) => {
      const value = ownerBytes({ shardId: self.id, instance: self.instance, epoch });
      const key = this.#bytes(this.#keys.owners, partition);
      return this.#ifUnchanged(partition, { request_put: { key, value, lease } });
    });
    const done = await this.#commit(operations);
    if (ours.length < epochs.size || done.includes(false))
      throw new Error('Cannot publish epochs: this shard no longer owns all of the partitions.');
  }

  async release(partitions: readonly number[]): Promise<void> {
    const ours = partitions.filter((partition) => this.#isOurs(partition));
    const operations = ours.map((partition) => {
      const key = this.#bytes(this.#keys.owners, partition);
      return this.#ifUnchanged(partition, { request_delete_range: { key } });
    });
    await this.#commit(operations);
  }

  async leave(): Promise<void> {
    const lease = this.#lease;
    this.#end();
    if (lease) await this.#etcd.leaseClient.leaseRevoke({ ID: lease.id });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#end();
    this.#etcd.close();
  }

  // Lease

  async #grant(): Promise<HeldLease> {
    const { clock, lease } = this.#deps;
    const sentMs = clock.monotonic();
    const { ID, TTL } = await this.#etcd.leaseClient.leaseGrant({
      TTL: Math.ceil(this.#settings.leaseTtlMs / 1000),
    });
    const held = { id: ID, ttlMs: Number(TTL) * 1000 };
    if (this.#closed) throw new Error('The directory is closed.');
    this.#lease = held;
    this.#safeUntilMs = lease.safeUntilMs(sentMs, held.ttlMs);
    this.#renewLater(held, lease.renewalEveryMs(held.ttlMs));
    return held;
  }

  #renewLater(held: HeldLease, delayMs: number): void {
    if (this.#lease === held) this.#after(delayMs, () => void this.#renew(held));
  }

  async #renew(held: HeldLease): Promise<void> {
    if (this.#lease !== held) return;
    const { clock, lease, onFault } = this.#deps;
    const everyMs = lease.renewalEveryMs(held.ttlMs);
    const sentMs = clock.monotonic();
    try {
      const ttlSec = await this.#renewals.renew(held.id, everyMs);
      if (this.#lease !== held) return;
      if (!(ttlSec > 0)) return this.#lose('The lease has expired.');
      this.#safeUntilMs = Math.max(this.#safeUntilMs, lease.safeUntilMs(sentMs, ttlSec * 1000));
      this.#listener?.renewed();
      this.#renewLater(held, everyMs);
    } catch (error) {
      if (this.#lease !== held) return;
      onFault(error, 'renewing the lease');
      this.#renewLater(held, RETRY_MS);
    }
  }

  #lose(reason: string): void {
    const listener = this.#listener;
    this.#end();
    listener?.lost(reason);
  }

  /** Revokes the lease of a shard that did not join after all. */
  #revoke(): void {
    this.leave().catch((error) => this.#deps.onFault(error, 'revoking the lease'));
  }

  #end(): void {
    this.#lease = null;
    this.#safeUntilMs = Number.NEGATIVE_INFINITY;
    this.#listener = null;
    this.#self = null;
    this.#watching += 1;
    this.#unwatch?.();
    this.#unwatch = null;
    this.#renewals.close();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    for (const { settle } of [...this.#waiting]) settle(new Error('The membership has ended.'));
  }

  #after(delayMs: number, run: () => void): void {
    const timer = this.#deps.clock.setTimer(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }

  // Responses of etcd

  async #sync(): Promise<void> {
    const range = { key: Buffer.from(this.#keys.prefix), range_end: endOf(this.#keys.prefix) };
    const { header, kvs } = await this.#etcd.kv.range(range);
    this.#model.reset(kvs, Number(header.revision));
    this.#settle();
  }

  /** Watches from the model's revision. When the watch ends, all keys are read again: etcd may have compacted the changes since. */
  #follow(watching: number): void {
    const range = { key: Buffer.from(this.#keys.prefix), range_end: endOf(this.#keys.prefix) };
    const again = (error: unknown): void => {
      if (this.#watching !== watching) return;
      this.#deps.onFault(error, 'watching etcd');
      this.#after(RETRY_MS, () => void this.#refollow(watching, again));
    };
    this.#unwatch = watchKeys(
      this.#etcd,
      range,
      this.#model.revision + 1,
      ({ events, header }) => {
        this.#model.apply(events, Number(header.revision));
        this.#show(events.length > 0);
      },
      again,
    );
  }

  async #refollow(watching: number, again: (error: unknown) => void): Promise<void> {
    try {
      await this.#sync();
      if (this.#watching !== watching) return;
      this.#show(true);
      if (this.#watching === watching) this.#follow(watching);
    } catch (error) {
      again(error);
    }
  }

  #show(changed: boolean): void {
    const { view } = this.#model;
    const isMember = view.shards.some(({ instance }) => instance === this.#self?.instance);
    if (!isMember) {
      this.#lose('etcd no longer lists this shard as a member.');
      return;
    }
    if (changed) this.#listener?.changed(view);
    this.#settle();
  }

  #settle(): void {
    for (const waiting of [...this.#waiting])
      if (waiting.revision <= this.#model.revision) waiting.settle(null);
  }

  /** Resolves when the view includes this revision. */
  #seen(revision: number): Promise<void> {
    if (revision <= this.#model.revision || !this.#listener) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = {
        revision,
        settle: (error: Error | null): void => {
          timer.cancel();
          this.#waiting.delete(waiting);
          if (error) reject(error);
          else resolve();
        },
      };
      const timer = this.#deps.clock.setTimer(
        () => waiting.settle(new Error('The etcd watch did not report the committed revision in time.')),
        CALL_MS,
      );
      this.#waiting.add(waiting);
    });
  }

  // Requests to etcd

  /** Runs the operations in as many transactions as needed. @returns for each operation whether it was done. */
  async #commit(operations: readonly IRequestOp[]): Promise<readonly boolean[]> {
    const done: boolean[] = [];
    let revision = 0;
    for (let at = 0; at < operations.length; at += OPERATIONS_MAX) {
      const success = operations.slice(at, at + OPERATIONS_MAX);
      const { header, responses } = await this.#etcd.kv.txn({ success }).catch((error) => {
        if (isLeaseOver(error)) this.#lose('The lease has expired.');
        throw error;
      });
      const each = responses.map(({ response_txn }) => response_txn?.succeeded ?? true);
      if (each.includes(true)) revision = Number(header.revision);
      done.push(...each);
    }
    await this.#seen(revision);
    return done;
  }

  /** Checks that all shards of the cluster use one partition count. @throws RangeError when this shard's count differs. */
  async #agree(): Promise<void> {
    const key = Buffer.from(this.#keys.count);
    await this.#commit([ifAbsent({ key, value: Buffer.from(String(this.partitions)) })]);
    const { kvs } = await this.#etcd.kv.range({ key });
    const count = kvs[0]?.value.toString();
    if (count !== String(this.partitions))
      throw new RangeError(
        `The cluster "${this.#settings.clusterId}" has ${count} partitions, and this shard is set to ${this.partitions}.`,
      );
  }

  async #workersTaken(): Promise<readonly number[]> {
    const { workers } = this.#keys;
    const range = { key: Buffer.from(workers), range_end: endOf(workers), keys_only: true };
    const { kvs } = await this.#etcd.kv.range(range);
    return kvs.map(({ key }) => Number(key.toString().slice(workers.length)));
  }

  /** Whether the shard joined although the response was lost. */
  async #isEntered(self: ShardInfo, lease: string): Promise<boolean> {
    const { kvs } = await this.#etcd.kv.range({ key: this.#bytes(this.#keys.members, self.id) });
    return kvs[0]?.lease === lease;
  }

  #membership(): { readonly self: ShardInfo; readonly lease: string } {
    if (!this.#self || !this.#lease) throw new Error('This shard is not a member of the cluster.');
    return { self: this.#self, lease: this.#lease.id };
  }

  #isOurs(partition: number): boolean {
    return this.#model.view.owners[partition]?.instance === this.#self?.instance;
  }

  #bytes(prefix: string, name: number | string): Buffer {
    return Buffer.from(`${prefix}${name}`);
  }

  #member(self: ShardInfo) {
    return { key: this.#bytes(this.#keys.members, self.id), value: Buffer.from(JSON.stringify(self)) };
  }

  #ifUnchanged(partition: number, operation: IRequestOp): IRequestOp {
    const key = this.#bytes(this.#keys.owners, partition);
    const written = this.#model.writtenIn(partition);
    const compare: ICompare[] = [{ key, target: 'Mod', result: 'Equal', mod_revision: written }];
    return { request_txn: { compare, success: [operation] } };
  }
}

const ownerBytes = (owner: Owner): Buffer => Buffer.from(JSON.stringify(owner));

const ifAbsent = (put: { key: Buffer; value: Buffer; lease?: string }): IRequestOp => ({
  request_txn: {
    compare: [{ key: put.key, target: 'Create', result: 'Equal', create_revision: 0 }],
    success: [{ request_put: put }],
  },
});

const isLeaseOver = (error: unknown): boolean =>
  error instanceof Error && /requested lease not found/.test(error.message);
