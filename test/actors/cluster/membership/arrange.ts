// Shards over one directory in memory, with everything that happens to them on a virtual clock.
import { expect } from 'vitest';
import { createOwnership, type ShardOwnership } from '../../../../actors/cluster/membership/ownership.ts';
import type { Directory, Handover } from '../../../../actors/cluster/ports.ts';
import type { OwnershipChange } from '../../../../actors/placement/ports.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { MemoryAuthority, memoryDirectory } from '../../../support/memorydirectory.ts';

export const PARTITIONS = 16;
export const TTL_MS = 10_000;
export const HANDOVER_MS = 1_000;

/** The database's side: epochs that only rise. */
class Epochs {
  readonly now = new Map<number, number>();
  down = false;

  takeOver = async (partitions: readonly number[]): Promise<ReadonlyMap<number, number>> => {
    await Promise.resolve();
    if (this.down) throw new Error('The database is gone.');
    for (const partition of partitions) this.now.set(partition, (this.now.get(partition) ?? 0) + 1);
    return new Map(partitions.map((partition) => [partition, this.now.get(partition) as number]));
  };
}

/** One process of the cluster, and what was done there. */
export interface Cell {
  readonly id: string;
  readonly instance: string;
  readonly ownership: ShardOwnership;
  readonly log: string[];
  readonly changes: OwnershipChange[];
  /** Partitions that it serves now. */
  served(): number[];
  /** The handover waits for this. */
  readonly handing: { until: () => Promise<unknown> };
  /** A promise that the recovery step before a return waits for. */
  readonly returning: { until: Promise<unknown> };
  idOf(partition: number): string;
}

/** Clock, database and epochs that all shards of a test share. */
export class Surroundings {
  readonly clock = new VirtualClock();
  readonly authority = new MemoryAuthority(this.clock, { partitions: PARTITIONS, ttlMs: TTL_MS });
  readonly epochs = new Epochs();
  readonly all: Cell[] = [];
  /** An id of each partition. */
  readonly ids = new Map<number, string>();

  /** Lets promises settle and time pass. */
  pass = async (ms = 0, stepMs = 50): Promise<void> => {
    for (let passed = 0; ; passed += stepMs) {
      for (let turn = 0; turn < 60; turn += 1) await Promise.resolve();
      if (passed >= ms) return;
      this.clock.advance(Math.min(stepMs, ms - passed));
    }
  };

  shard = (id: string, run = 1, change: (directory: Directory) => Directory = (same) => same): Cell => {
    const { ids, clock } = this;
    const log: string[] = [];
    const changes: OwnershipChange[] = [];
    const instance = `${id}#${run}`;
    const handing: Cell['handing'] = { until: () => Promise.resolve() };
    const returning: Cell['returning'] = { until: Promise.resolve() };
    const ownership: ShardOwnership = createOwnership({
      self: {
        ...{ id, instance, address: `${id}:1`, adminUrl: null, host: 'here', pid: run },
        ...{ weight: 100, version: '1.0.0', startedMs: 0 },
      },
      directory: change(memoryDirectory(this.authority)),
      store: this.epochs,
      handover: tenancyOf(ids, log, handing, () => ownership),
      lifetime: new Lifetime(clock),
      random: () => 0.5,
      handoverTimeoutMs: HANDOVER_MS,
      numbered: (worker) => log.push(`worker ${worker}`),
      beforeRejoin: async () => {
        const isSeen = this.authority.view.shards.some((shard) => shard.instance === instance);
        log.push(isSeen ? 'returning late' : 'returning');
        await returning.until;
      },
      onFault: (error, what) => log.push(`${what}: ${(error as Error).message}`),
    });
    ownership.onChange((each) => changes.push(each));
    for (let n = 0; ids.size < PARTITIONS; n += 1) ids.set(ownership.partitionOf(String(n)), String(n));
    const served = () => [...ids].filter(([, each]) => ownership.owns(each)).map(([partition]) => partition);
    const idOf = (partition: number) => ids.get(partition) as string;
    const cell = { id, instance, ownership, log, changes, served, handing, returning, idOf };
    this.all.push(cell);
    return cell;
  };

  started = async (...named: string[]): Promise<[Cell, ...Cell[]]> => {
    const shards = named.map((id) => this.shard(id));
    await Promise.all([...shards.map(({ ownership }) => ownership.start()), this.pass(200)]);
    return shards as [Cell, ...Cell[]];
  };

  /** By partition, who serves it. */
  serving = (): string[][] =>
    Array.from({ length: PARTITIONS }, (_, partition) =>
      this.all.filter(({ ownership, idOf }) => ownership.owns(idOf(partition))).map(({ id }) => id),
    );
}

/** Notes what it is asked, and looks that ownership does with what is leaving as it says. */
const tenancyOf = (
  ids: ReadonlyMap<number, string>,
  log: string[],
  handing: Cell['handing'],
  ownership: () => ShardOwnership,
): Handover => ({
  async handOver(owned) {
    const owning = [...ids].filter(([, each]) => owned(each));
    log.push(`hand over ${owning.length}`);
    for (const [partition, id] of owning) {
      expect(ownership().owns(id)).toBe(false);
      // Commits that are under way may still be written.
      if (ownership().view.owners[partition]?.epoch) expect(ownership().fenceOf(id)).not.toBeNull();
    }
    await handing.until();
  },
  abandon: (owned) => void log.push(`abandon ${[...ids.values()].filter(owned).length}`),
});

export const cluster = (): Surroundings => new Surroundings();
