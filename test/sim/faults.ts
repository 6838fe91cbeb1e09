import { Random } from '../fuzz/random.ts';
import type { SimClient } from './client.ts';
import type { SimCluster, Slot } from './cluster.ts';
import type { SimRegistry } from './directory.ts';
import type { SimNetwork } from './network.ts';
import type { World } from './world.ts';

interface FaultPorts {
  readonly world: World;
  readonly cluster: SimCluster;
  readonly network: SimNetwork;
  readonly clients: readonly SimClient[];
}

type Fault = (ports: FaultPorts, slot: Slot) => void;

/** The possible faults; a run has some of them. */
const FAULTS = {
  kill: ({ world, cluster }, slot) => cluster.kill(slot, world.between(200, 6_000)),
  stop: ({ world, cluster }, slot) => cluster.stop(slot, world.between(50, 9_000)),
  loseDirectory: ({ world }, slot) => cutFor(world, slot, 'directory', world.between(200, 8_000)),
  loseDatabase: ({ world }, slot) => cutFor(world, slot, 'database', world.between(200, 6_000)),
  restartDatabase: ({ world, cluster }) => {
    world.note('the database restarts');
    for (const { line } of cluster.running) line.lose();
  },
  partPeers: ({ world, cluster, network }, slot) => {
    const others = cluster.slots.filter((other) => other !== slot);
    if (others.length === 0) return;
    const other = world.random.pick(others);
    world.note(`${slot.id} and ${other.id} do not reach each other`);
    network.cut(slot.id, other.id);
    world.after(world.between(100, 7_000), () => network.heal(slot.id, other.id));
  },
  breakLink: ({ world, cluster, network }, slot) => {
    const others = cluster.slots.filter((other) => other !== slot);
    if (others.length > 0) network.break(slot.id, world.random.pick(others).id);
  },
  dropClient: ({ world, clients }) => {
    const client = world.random.pick(clients);
    world.note(`the connection of ${client.name} breaks`);
    client.drop(world.between(0, 8_000));
  },
  awayClient: ({ world, clients }) => {
    const client = world.random.pick(clients);
    const forMs = world.between(500, 20_000);
    world.note(`${client.name} stays away for ${Math.round(forMs)} ms`);
    client.stayAway(forMs);
  },
  skew: ({ world }, { run }) => {
    if (run) run.clock.offsetMs += Math.floor(world.between(-2_000, 2_000));
  },
  drain: ({ world, cluster }, slot) => cluster.drain(slot, world.between(100, 3_000)),
  join: ({ cluster }) => {
    if (cluster.slots.length < SHARDS_MAX) cluster.add();
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];
const SHARDS_MAX = 5;

function cutFor(world: World, { id, ways }: Slot, what: 'directory' | 'database', forMs: number): void {
  world.note(`${id} does not reach the ${what}`);
  ways[what].cut = true;
  world.after(forMs, () => {
    ways[what].cut = false;
  });
}

/** Injects one of these faults now and then, until `untilMs`. */
export function misfortune(
  ports: FaultPorts,
  names: readonly FaultName[],
  everyMs: number,
  untilMs: number,
): void {
  const { world, cluster } = ports;
  if (names.length === 0) return;
  world.after(world.between(everyMs / 2, everyMs * 1.5), () => {
    if (world.nowMs >= untilMs) return;
    FAULTS[world.random.pick(names)](ports, world.random.pick(cluster.slots));
    misfortune(ports, names, everyMs, untilMs);
  });
}

/**
 * Now and then, until `untilMs`, pauses a process between its decision and its write, for longer than a lease. Only runs
 * that request this fault have it, so that the seeds of all other runs do not change.
 */
export function staleWriters(
  ports: Pick<FaultPorts, 'world' | 'cluster'>,
  untilMs: number,
  leaseMs: number,
): void {
  const { world, cluster } = ports;
  world.after(world.between(1_000, 3_000), () => {
    if (world.nowMs >= untilMs) return;
    const { run } = world.random.pick(cluster.slots);
    if (run) run.line.stopMs = world.between(leaseMs, leaseMs * 3);
    staleWriters(ports, untilMs, leaseMs);
  });
}

/** Upper bound on the reads of the clock before the machine stops: about those of one turn. */
const READS_MAX = 40;

/**
 * Stops the machine now and then, until `untilMs`, between two reads of the clock in one turn of a process, usually for about the rest
 * of that process's lease: its first read finds the lease safe and the next one does not. Only runs that request it have it, like
 * `staleWriters`.
 */
export function preemptions(
  { world, cluster }: Pick<FaultPorts, 'world' | 'cluster'>,
  seed: number,
  untilMs: number,
): void {
  const random = new Random(seed ^ 0x0b5e_7d13);
  const again = (): void => {
    world.after(20 + random.next() * 150, () => {
      if (world.nowMs >= untilMs) return;
      const { run } = random.pick(cluster.slots);
      const reads = random.below(READS_MAX);
      // Close to 1: the lease has somewhat less left when the machine stops, because time passes until that read.
      const share = random.next() ** (1 / 8);
      if (run && run.leaseLeftMs > 0) run.clock.preempt(reads, run.leaseLeftMs * share);
      again();
    });
  };
  again();
}

/** Upper bounds: until the next shard is marked, and until its mark is removed. */
const FLEETING_MS = { next: 400, marked: 60 };

/**
 * Until `untilMs`, one shard after another is marked as draining for some milliseconds: it hands its partitions over, and they return
 * to it at once. Only runs that request it have it, like `preemptions`.
 */
export function fleetingOwners(
  { world, cluster, registry }: Pick<FaultPorts, 'world' | 'cluster'> & { readonly registry: SimRegistry },
  seed: number,
  untilMs: number,
): void {
  const random = new Random(seed ^ 0x1f1e_e719);
  const again = (): void => {
    world.after(random.next() * FLEETING_MS.next, () => {
      if (world.nowMs >= untilMs) return;
      const { id } = random.pick(cluster.slots);
      registry.mark(id, { draining: true });
      world.after(random.next() ** 2 * FLEETING_MS.marked, () => registry.mark(id, { draining: false }));
      again();
    });
  };
  again();
}

/** Bounds of the time without a database: from a restart to a fail-over. */
const OUTAGE_MS = { least: 200, most: 12_000 };

/**
 * Now and then, until `untilMs`, no shard reaches the database for a while. Only runs that request it have it, like
 * `preemptions`.
 */
export function outages(
  { world, cluster }: Pick<FaultPorts, 'world' | 'cluster'>,
  seed: number,
  untilMs: number,
): void {
  const random = new Random(seed ^ 0x2d0b_a5e1);
  const again = (): void => {
    world.after(500 + random.next() * 4_000, () => {
      if (world.nowMs >= untilMs) return;
      const forMs = OUTAGE_MS.least + random.next() ** 2 * OUTAGE_MS.most;
      for (const slot of cluster.slots) cutFor(world, slot, 'database', forMs);
      world.after(forMs, again);
    });
  };
  again();
}

/**
 * Now and then, until `untilMs`, a client reads nothing for a while: frames for it wait at its shard. Drawn from a separate random
 * sequence, like `preemptions`.
 */
export function slowness(
  { world, clients }: Pick<FaultPorts, 'world' | 'clients'>,
  seed: number,
  untilMs: number,
): void {
  const random = new Random(seed ^ 0x510c_1e57);
  const again = (): void => {
    world.after(200 + random.next() * 1_500, () => {
      if (world.nowMs >= untilMs) return;
      random.pick(clients).stopReading(200 + random.next() ** 2 * 5_000);
      again();
    });
  };
  again();
}

/** Repairs everything that can be repaired. */
export function heal({ world, cluster, network }: FaultPorts): void {
  world.note('everything is healed');
  network.healAll();
  for (const { run, ways } of cluster.slots) {
    ways.directory.cut = false;
    ways.database.cut = false;
    if (!run) continue;
    run.line.stopMs = 0;
    world.resume(run.host);
  }
}
