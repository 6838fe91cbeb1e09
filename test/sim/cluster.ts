import { type ShardPorts, type ShardWays, SimShard } from './shard.ts';
import type { Wire, WireEnd } from './wire.ts';

/** One shard over all its runs. */
export interface Slot {
  readonly id: string;
  readonly ways: ShardWays;
  /** Null while it is down. */
  run: SimShard | null;
  runs: number;
  /** It was taken out for good. */
  gone: boolean;
}

/** All shards, and the faults that may hit them. */
export class SimCluster {
  readonly slots: Slot[] = [];
  readonly #ports: ShardPorts;

  constructor(ports: ShardPorts) {
    this.#ports = ports;
  }

  /** The current runs. */
  get running(): SimShard[] {
    return this.slots.flatMap(({ run }) => (run?.host.alive ? [run] : []));
  }

  add(): Slot {
    const { world } = this.#ports;
    const ways: ShardWays = {
      skew: () => ({ offsetMs: Math.floor(world.between(-300, 300)), rate: world.between(0.999, 1.001) }),
      ...{ database: { cut: false }, directory: { cut: false } },
    };
    const slot: Slot = { id: `shard-${this.slots.length}`, ways, run: null, runs: 0, gone: false };
    this.slots.push(slot);
    this.start(slot);
    return slot;
  }

  start(slot: Slot): void {
    if (slot.run || slot.gone) return;
    slot.runs += 1;
    slot.run = new SimShard(slot.id, slot.runs, slot.ways, this.#ports);
    this.#ports.world.note(`${slot.run.instance} starts`);
    slot.run.start();
  }

  /** kill -9, and a restart after a while. */
  kill(slot: Slot, downMs: number): void {
    const { run } = slot;
    if (!run) return;
    this.#ports.world.note(`kill -9 ${run.instance}`);
    slot.run = null;
    run.kill();
    this.#ports.world.after(downMs, () => this.start(slot));
  }

  /** The shard hands everything over, ends, and restarts. */
  drain(slot: Slot, downMs: number): void {
    const { run } = slot;
    if (!run?.listens) return;
    this.#ports.world.note(`${run.instance} drains`);
    run.drain(() => {
      if (slot.run !== run) return;
      slot.run = null;
      this.#ports.world.after(downMs, () => this.start(slot));
    });
  }

  /** The process is paused. */
  stop(slot: Slot, forMs: number): void {
    if (!slot.run) return;
    this.#ports.world.note(`${slot.run.instance} stands still for ${Math.round(forMs)} ms`);
    this.#ports.world.stop(slot.run.host, forMs);
  }

  /** A shard that accepts connections; null while none does. */
  pick(): SimShard | null {
    const open = this.running.filter(({ listens }) => listens);
    return open.length === 0 ? null : this.#ports.world.random.pick(open);
  }

  connect(client: WireEnd): Wire | null {
    const shard = this.pick();
    if (shard) this.#ports.world.note(`${client.name} connects to ${shard.instance}`);
    return shard?.accept(client) ?? null;
  }
}
