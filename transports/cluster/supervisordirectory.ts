import type { ClusterView, Owner, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { Channel } from './channel.ts';

/** A request of a shard to the supervisor's directory; `n` numbers the requests, ascending. */
export type DirectoryRequest = { readonly n: number } & (
  | { readonly kind: 'worker' | 'renew' | 'leave' }
  | { readonly kind: 'enter'; readonly self: ShardInfo }
  | { readonly kind: 'update'; readonly change: Partial<Pick<ShardInfo, 'draining' | 'weight'>> }
  | { readonly kind: 'claim' | 'release'; readonly partitions: readonly number[] }
  | { readonly kind: 'publish'; readonly epochs: readonly (readonly [partition: number, epoch: number])[] }
);

type OwnerChange = readonly [partition: number, owner: Owner | null];

/** A message of the supervisor's directory to a shard. */
export type DirectoryMessage =
  | { readonly kind: 'answer'; readonly n: number; readonly value: number | readonly number[] | null }
  | { readonly kind: 'refused'; readonly n: number; readonly reason: string }
  /** To a shard that joins: the whole view. */
  | { readonly kind: 'view'; readonly view: ClusterView }
  /** To all members: the current members, and the partitions whose owner changed. */
  | {
      readonly kind: 'moved';
      readonly revision: number;
      readonly shards: readonly ShardInfo[];
      readonly owners: readonly OwnerChange[];
    }
  | { readonly kind: 'lost'; readonly reason: string };

/** A message and the connection it is sent to. */
interface AddressedMessage {
  readonly to: number;
  readonly message: DirectoryMessage;
}

interface SupervisorDirectorySettings {
  readonly partitions: number;
  /** How long a member that sends nothing stays a member, milliseconds. */
  readonly leaseTtlMs: number;
  /** First worker number; a supervisor that directly replaces another one should start elsewhere. */
  readonly firstWorker?: number;
}

interface Connection {
  worker: number | null;
  /** Null while it is not a member. */
  self: ShardInfo | null;
  heardMs: number;
}

/** A snowflake has ten bits for the worker number. */
const WORKERS = 1024;

/**
 * Membership and ownership of the shards of one machine, kept by their supervisor. Sans-IO: every input, with the time,
 * changes its state and returns the messages to send.
 *
 * A shard is a member while its lease lasts. Every request renews the lease, which ends at once when the shard's process
 * does; the shard's partitions then have no owner. Times are monotonic milliseconds.
 */
class DirectoryState {
  readonly #settings: SupervisorDirectorySettings;
  readonly #connections = new Map<number, Connection>();
  readonly #owners: (Owner | null)[];
  #revision = 0;
  #nextWorker: number;

  constructor(settings: SupervisorDirectorySettings) {
    this.#settings = settings;
    this.#owners = new Array<Owner | null>(settings.partitions).fill(null);
    this.#nextWorker = (settings.firstWorker ?? 0) % WORKERS;
  }

  get view(): ClusterView {
    return { revision: this.#revision, shards: this.#shards(), owners: [...this.#owners] };
  }

  /** Handles a request of a connection; the first request registers the connection. */
  requested(from: number, request: DirectoryRequest, nowMs: number): AddressedMessage[] {
    const connection = this.#connections.get(from) ?? { worker: null, self: null, heardMs: nowMs };
    this.#connections.set(from, connection);
    connection.heardMs = nowMs;
    const { n } = request;
    const refused = (reason: string): AddressedMessage[] => [
      { to: from, message: { kind: 'refused', n, reason } },
    ];
    const answer = (value: number | readonly number[] | null = null): AddressedMessage => ({
      to: from,
      message: { kind: 'answer', n, value },
    });
    if (request.kind === 'worker') {
      connection.worker ??= this.#freeWorker();
      return connection.worker === null
        ? refused('All worker numbers are in use.')
        : [answer(connection.worker)];
    }
    if (request.kind === 'enter') return this.#enter(from, connection, request.self, answer(), refused);
    const { self } = connection;
    if (!self) return refused('This shard is not a member: its lease has expired, or it has not joined.');
    switch (request.kind) {
      case 'renew':
        return [answer()];
      case 'leave':
        connection.self = null;
        return [...this.#ownersChanged(this.#freed(self)), answer()];
      case 'update':
        connection.self = { ...self, ...request.change };
        return [...this.#ownersChanged([]), answer()];
      case 'claim': {
        const taken = distinct(request.partitions).filter((partition) => this.#owners[partition] === null);
        return [
          ...this.#ownersChanged(taken.map((partition) => [partition, ownerOf(self, 0)])),
          answer(taken),
        ];
      }
      case 'publish': {
        const own = request.epochs.filter(([partition]) => this.#owns(self, partition));
        return [
          ...this.#ownersChanged(own.map(([partition, epoch]) => [partition, ownerOf(self, epoch)])),
          answer(),
        ];
      }
      case 'release': {
        const own = distinct(request.partitions).filter((partition) => this.#owns(self, partition));
        return [...this.#ownersChanged(own.map((partition) => [partition, null])), answer()];
      }
    }
  }

  /** Handles the end of the process behind a connection. */
  gone(from: number): AddressedMessage[] {
    const connection = this.#connections.get(from);
    this.#connections.delete(from);
    return connection?.self ? this.#ownersChanged(this.#freed(connection.self)) : [];
  }

  /** Extends all leases by the time during which the supervisor's directory could not read. The shards themselves do not rely on the extension. */
  grant(ms: number): void {
    for (const connection of this.#connections.values()) connection.heardMs += ms;
  }

  /** Ends expired leases. */
  tick(nowMs: number): AddressedMessage[] {
    const out: AddressedMessage[] = [];
    const freed: OwnerChange[] = [];
    for (const [to, connection] of this.#connections) {
      const { self, heardMs } = connection;
      if (!self || nowMs - heardMs < this.#settings.leaseTtlMs) continue;
      connection.self = null;
      freed.push(...this.#freed(self));
      const reason = `${self.id} sent nothing for ${this.#settings.leaseTtlMs} ms.`;
      out.push({ to, message: { kind: 'lost', reason } });
    }
    return out.length === 0 ? out : [...out, ...this.#ownersChanged(freed)];
  }

  #enter(
    from: number,
    connection: Connection,
    self: ShardInfo,
    answered: AddressedMessage,
    refused: (reason: string) => AddressedMessage[],
  ): AddressedMessage[] {
    for (const [other, { self: there }] of this.#connections)
      if (other !== from && there?.id === self.id)
        return refused(`Shard ${self.id} already exists: process ${there.pid}.`);
    // A shard that joins again starts without partitions.
    const freed = connection.self ? this.#freed(connection.self) : [];
    connection.self = self;
    const ownersChanged = this.#ownersChanged(freed).filter(({ to }) => to !== from);
    return [...ownersChanged, { to: from, message: { kind: 'view', view: this.view } }, answered];
  }

  /** Applies the changes and sends them to all members, with the list of members. */
  #ownersChanged(owners: readonly OwnerChange[]): AddressedMessage[] {
    for (const [partition, owner] of owners) this.#owners[partition] = owner;
    this.#revision += 1;
    const message: DirectoryMessage = {
      kind: 'moved',
      revision: this.#revision,
      shards: this.#shards(),
      owners,
    };
    return [...this.#connections].flatMap(([to, { self }]) => (self ? [{ to, message }] : []));
  }

  #freed({ instance }: ShardInfo): OwnerChange[] {
    return this.#owners.flatMap((owner, partition) =>
      owner?.instance === instance ? [[partition, null] as const] : [],
    );
  }

  #owns({ instance }: ShardInfo, partition: number): boolean {
    return this.#owners[partition]?.instance === instance;
  }

  #shards(): ShardInfo[] {
    const members = [...this.#connections.values()].flatMap(({ self }) => (self ? [self] : []));
    return members.sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** The next free number in a cycle, so that a restarted shard does not reuse its number and generate the same ids again. */
  #freeWorker(): number | null {
    const taken = new Set([...this.#connections.values()].map(({ worker }) => worker));
    for (let tried = 0; tried < WORKERS; tried += 1) {
      const worker = this.#nextWorker;
      this.#nextWorker = (worker + 1) % WORKERS;
      if (!taken.has(worker)) return worker;
    }
    return null;
  }
}

const ownerOf = ({ id, instance }: ShardInfo, epoch: number): Owner => ({ shardId: id, instance, epoch });
const distinct = (partitions: readonly number[]): number[] => [...new Set(partitions)];

/** How often leases are checked per lease duration. */
const LOOKS = 10;

export interface SupervisorDirectory {
  readonly view: ClusterView;
  /** Connects a shard. */
  attach(channel: Channel): DirectoryConnection;
  close(): void;
}

/** A shard's connection to the supervisor's directory. */
export interface DirectoryConnection {
  /** Its process has ended: its partitions lose their owner. */
  gone(): void;
}

/** Runs a hub on channels. */
export function runSupervisorDirectory(
  settings: SupervisorDirectorySettings,
  clock: Clock,
): SupervisorDirectory {
  const supervisorDirectory = new DirectoryState(settings);
  const channels = new Map<number, Channel>();
  let seats = 0;
  const sendAll = (out: readonly AddressedMessage[]) => {
    for (const { to, message } of out) channels.get(to)?.send(message);
  };
  const everyMs = settings.leaseTtlMs / LOOKS;
  let dueMs = clock.monotonic() + everyMs;
  const look = (): void => {
    const nowMs = clock.monotonic();
    // The process was stopped or suspended: requests sent meanwhile are still unread, so leases are extended by that time.
    if (nowMs - dueMs > everyMs) supervisorDirectory.grant(nowMs - dueMs);
    sendAll(supervisorDirectory.tick(nowMs));
    dueMs = nowMs + everyMs;
    timer = clock.setTimer(look, everyMs);
  };
  let timer: Timer = clock.setTimer(look, everyMs);
  return {
    get view() {
      return supervisorDirectory.view;
    },
    attach(channel) {
      const seat = seats++;
      channels.set(seat, channel);
      const stop = channel.onMessage((request) => {
        sendAll(supervisorDirectory.requested(seat, request as DirectoryRequest, clock.monotonic()));
      });
      const gone = () => {
        stop();
        if (channels.delete(seat)) sendAll(supervisorDirectory.gone(seat));
      };
      channel.onClosed(gone);
      return { gone };
    },
    close: () => timer.cancel(),
  };
}
