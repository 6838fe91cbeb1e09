import type { IEvent, IKeyValue } from 'etcd3';
import type { ClusterView, Owner, ShardInfo } from '../../actors/placement/ports.ts';

/** The keys of one cluster in etcd. Values are JSON, except two that are plain text. */
export class EtcdKeys {
  /** Prefix of all keys of this cluster and of no other keys. */
  readonly prefix: string;
  readonly members: string;
  readonly owners: string;
  readonly workers: string;
  /** The partition count; kept when the cluster has no members. */
  readonly count: string;

  constructor(clusterId: string) {
    this.prefix = `/guildhall/${clusterId}/`;
    this.members = `${this.prefix}members/`;
    this.owners = `${this.prefix}partitions/`;
    this.workers = `${this.prefix}workers/`;
    this.count = `${this.prefix}settings/partitions`;
  }
}

/** The end of the key range with this prefix. */
export function endOf(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  end.writeUInt8(end.readUInt8(end.length - 1) + 1, end.length - 1);
  return end;
}

/** The cluster's state as read from etcd so far. Keys and values that do not parse are ignored. */
export class EtcdModel {
  readonly #keys: EtcdKeys;
  readonly #shards = new Map<string, ShardInfo>();
  readonly #owners: (Owner | null)[];
  /** Revision of the latest write of each partition. */
  readonly #written: string[];
  #revision = 0;
  #view: ClusterView | null = null;

  constructor(keys: EtcdKeys, partitions: number) {
    this.#keys = keys;
    this.#owners = new Array<null>(partitions).fill(null);
    this.#written = new Array<string>(partitions).fill('0');
  }

  get revision(): number {
    return this.#revision;
  }

  get view(): ClusterView {
    this.#view ??= {
      revision: this.#revision,
      shards: [...this.#shards.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
      owners: [...this.#owners],
    };
    return this.#view;
  }

  /** Revision in which the partition was claimed or published; '0' without an owner. */
  writtenIn(partition: number): string {
    return this.#written[partition] ?? '0';
  }

  reset(values: readonly IKeyValue[], revision: number): void {
    this.#shards.clear();
    this.#owners.fill(null);
    this.#written.fill('0');
    for (const { key, value, mod_revision } of values) this.#put(key.toString(), value, mod_revision);
    this.#at(revision);
  }

  apply(events: readonly IEvent[], revision: number): void {
    for (const { type, kv } of events)
      this.#put(kv.key.toString(), type === 'Put' ? kv.value : null, kv.mod_revision);
    this.#at(revision);
  }

  #at(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    this.#view = null;
  }

  #put(key: string, value: Buffer | null, revision: string): void {
    const { members, owners } = this.#keys;
    if (key.startsWith(members)) {
      const id = key.slice(members.length);
      const shard = value && shardOf(value, id);
      if (shard) this.#shards.set(id, shard);
      else this.#shards.delete(id);
    } else if (key.startsWith(owners)) {
      const partition = Number(key.slice(owners.length));
      if (!Number.isInteger(partition) || partition < 0 || partition >= this.#owners.length) return;
      this.#owners[partition] = value && ownerOf(value);
      this.#written[partition] = value ? revision : '0';
    }
  }
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: Buffer): Fields | null {
  try {
    const parsed: unknown = JSON.parse(value.toString());
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : null;
  } catch {
    return null;
  }
}

const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function ownerOf(value: Buffer): Owner | null {
  const { shardId, instance, epoch } = fieldsOf(value) ?? {};
  if (typeof shardId !== 'string' || typeof instance !== 'string' || !isWhole(epoch)) return null;
  return { shardId, instance, epoch };
}

const TEXTS = ['id', 'instance', 'address', 'host', 'version'] as const;
const NUMBERS = ['pid', 'weight', 'worker', 'startedMs'] as const;

function shardOf(value: Buffer, id: string): ShardInfo | null {
  const fields = fieldsOf(value);
  if (fields?.id !== id || fields.weight === 0) return null;
  if (!TEXTS.every((name) => typeof fields[name] === 'string')) return null;
  if (!NUMBERS.every((name) => isWhole(fields[name]))) return null;
  const { adminUrl } = fields;
  return {
    ...(fields as unknown as ShardInfo),
    adminUrl: typeof adminUrl === 'string' ? adminUrl : null,
    draining: fields.draining === true,
  };
}
