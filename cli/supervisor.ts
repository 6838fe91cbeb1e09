import type { Logger } from 'pino';
import { systemClock } from '../actors/runtime/clock.ts';
import type { Config } from '../config/config.ts';
import type { Addresses } from '../embedding.ts';
import type { SupervisedShard } from '../transports/admin/front.ts';
import { laneOf } from '../transports/cluster/channel.ts';
import {
  type DirectoryConnection,
  runSupervisorDirectory,
  type SupervisorDirectory,
} from '../transports/cluster/supervisordirectory.ts';
import type { Demo } from './demo.ts';
import { ALIVE_MS, LANE, type Order, type Report } from './shard.ts';
import { CommandError, type ShardProcess, type World } from './world.ts';

interface SupervisorOptions {
  /** Settings of each shard. */
  readonly configs: readonly Config[];
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Called when a shard starts or stops serving. */
  readonly changed: () => void;
  /** Run time, in milliseconds, after which a shard counts as healthy: the backoff of restarts then starts over. */
  readonly settledMs?: number;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

const SETTLED_MS = 10_000;
const RETRY_MS = { first: 250, most: 10_000 };
/** A shard that sends nothing for this long is called silent. */
const SILENT_MS = 3 * ALIVE_MS;
/** A shard that sends nothing for this long is killed. Its partitions were reassigned when its lease expired; its clients now reconnect. */
const HANG_MS = 30_000;
const WATCH_MS = 1_000;
/** Time a process gets beyond its own drain timeout. */
const GRACE_MS = 3_000;
const WORKERS = 1024;
const LAST_WORDS_MS = 200;

/** One shard, whichever process currently runs it. */
interface Slot {
  readonly config: Config;
  state: SupervisedShard['state'];
  process: ShardProcess | null;
  connection: DirectoryConnection | null;
  adminUrl: string | null;
  addresses: Addresses | null;
  restarts: number;
  /** Consecutive ends after a short run. */
  failures: number;
  startedMs: number;
  /** When its last message arrived. */
  heardMs: number;
  /** Whether it stays down when it ends. */
  stays: boolean;
  retry: NodeJS.Timeout | null;
  /** Stops waiting for the last messages of a process that ended before it served. */
  giveUp: (() => void) | null;
  /** Receives the process's other reports. */
  onReport: ((report: Report) => void) | null;
}

/**
 * Starts the shards of one machine and restarts those that end: at once after a long run, otherwise after a delay that doubles
 * up to a bound. Until all shards have served for the first time, the end of one ends the whole server.
 */
export class Supervisor {
  readonly #world: World;
  readonly #options: SupervisorOptions;
  readonly #directory: SupervisorDirectory;
  /** Whether the supervisor keeps the shards' directory: not with etcd, nor for a single process with its own database. */
  readonly #clustered: boolean;
  readonly #slots: readonly Slot[];
  readonly #watch: NodeJS.Timeout;
  #isEnding = false;

  constructor(world: World, options: SupervisorOptions) {
    const [first] = options.configs as [Config];
    this.#world = world;
    this.#options = options;
    this.#clustered = first.etcd_urls === null && first.database_url !== null;
    const [low = 0, high = 0] = world.randomBytes(2);
    this.#directory = runSupervisorDirectory(
      {
        partitions: first.partitions,
        leaseTtlMs: first.lease_ttl_ms,
        // Shards of a supervisor that was killed may still be draining with their worker numbers.
        firstWorker: (low | (high << 8)) % WORKERS,
      },
      systemClock,
    );
    this.#slots = options.configs.map((config) => ({
      ...{ config, state: 'down', process: null, connection: null, adminUrl: null, addresses: null },
      ...{
        restarts: 0,
        failures: 0,
        startedMs: 0,
        heardMs: 0,
        stays: false,
        retry: null,
        onReport: null,
        giveUp: null,
      },
    }));
    this.#watch = setInterval(() => this.#endHanging(), WATCH_MS);
  }

  get shards(): readonly SupervisedShard[] {
    return this.#slots.map(({ config, state, process, adminUrl, restarts, heardMs }) => ({
      ...{ id: config.shard_id as string, pid: process?.pid ?? null, adminUrl, restarts },
      state: state === 'serving' && performance.now() - heardMs > SILENT_MS ? 'silent' : state,
    }));
  }

  get isServed(): boolean {
    return this.#slots.some(({ state }) => state === 'serving');
  }

  /**
   * Starts all shards.
   *
   * @returns the addresses of the first one, once all serve.
   * @throws CommandError of the first one that ends instead.
   */
  async start(): Promise<Addresses> {
    const [addresses] = await Promise.all(this.#slots.map((slot) => this.#firstStart(slot)));
    return addresses as Addresses;
  }

  /** Lets the first shard create the demo. */
  seed(bots: number, directory: string | null): Promise<Demo> {
    const [slot] = this.#slots as [Slot];
    return new Promise((resolve, reject) => {
      slot.onReport = (report) => {
        if (report.kind === 'seeded') resolve(report.demo);
        if (report.kind === 'seedFailed' || report.kind === 'failed')
          reject(new CommandError(`The demo could not be made: ${report.message}`, 'Its log says why.'));
      };
      this.#order(slot, { kind: 'seed', bots, directory });
    });
  }

  /** Drains a shard and ends its process; it is restarted unless `stays` is set. */
  drain(id: string, stays: boolean): void {
    const slot = this.#slotOf(id);
    slot.stays = stays;
    this.#become(slot, 'draining');
    this.#order(slot, { kind: 'stop' });
    this.#endLate(slot, slot.process);
  }

  /** Starts a stopped shard. */
  startAgain(id: string): void {
    const slot = this.#slotOf(id);
    slot.stays = false;
    if (slot.process === null && slot.retry === null) this.#run(slot);
  }

  /** Stops all shards. @returns whether each of them drained in time. */
  async stop(): Promise<boolean> {
    this.#isEnding = true;
    clearInterval(this.#watch);
    const codes = this.#slots.map(async (slot) => {
      if (slot.retry) clearTimeout(slot.retry);
      slot.giveUp?.();
      if (!slot.process) return 0;
      this.#become(slot, 'draining');
      this.#order(slot, { kind: 'stop' });
      this.#endLate(slot, slot.process);
      return slot.process.exit;
    });
    const isClean = (await Promise.all(codes)).every((code) => code === 0);
    this.#directory.close();
    return isClean;
  }

  #slotOf(id: string): Slot {
    const slot = this.#slots.find(({ config }) => config.shard_id === id);
    if (!slot) throw new RangeError(`Unknown shard: ${id}.`);
    return slot;
  }

  #become(slot: Slot, state: Slot['state']): void {
    slot.state = state;
    this.#options.changed();
  }

  #order({ process }: Slot, order: Order): void {
    if (process) laneOf(process.channel, LANE.control).send(order);
  }

  #firstStart(slot: Slot): Promise<Addresses> {
    return new Promise((resolve, reject) => {
      slot.onReport = (report) => {
        if (report.kind === 'serving') resolve(report.addresses);
        if (report.kind === 'failed')
          reject(
            new CommandError(`${slot.config.shard_id}: ${report.message}`, report.advice || 'See above.'),
          );
      };
      const { exit } = this.#run(slot);
      exit.then((code) => {
        const ended = `${slot.config.shard_id} ended with ${code ?? 'a signal'} before it served.`;
        const fail = (): void => {
          clearTimeout(timer);
          reject(new CommandError(ended, 'Its log says why.'));
        };
        // Its last messages may arrive after its exit.
        const timer = setTimeout(fail, LAST_WORDS_MS);
        slot.giveUp = fail;
      });
    });
  }

  #run(slot: Slot): ShardProcess {
    const child = this.#world.startShard();
    slot.process = child;
    slot.startedMs = performance.now();
    slot.heardMs = slot.startedMs;
    slot.connection = this.#directory.attach(laneOf(child.channel, LANE.directory));
    slot.retry = null;
    this.#become(slot, 'starting');
    laneOf(child.channel, LANE.control).onMessage((message) => {
      const report = message as Report;
      slot.heardMs = performance.now();
      if (report.kind === 'serving' && slot.process === child && slot.state === 'starting') {
        slot.adminUrl = report.adminUrl;
        slot.addresses = report.addresses;
        this.#become(slot, 'serving');
      }
      if (report.kind === 'failed' && slot.restarts > 0)
        this.#options.logger.error(`${slot.config.shard_id} could not start: ${report.message}`);
      slot.onReport?.(report);
    });
    this.#order(slot, { kind: 'begin', config: slot.config, clustered: this.#clustered });
    child.exit.then((code) => this.#ended(slot, child, code));
    return child;
  }

  #ended(slot: Slot, child: ShardProcess, code: number | null): void {
    // First, so that the other shards can take over its partitions.
    slot.connection?.gone();
    const wasServing = slot.addresses !== null;
    const ranMs = performance.now() - slot.startedMs;
    Object.assign(slot, { process: null, connection: null, adminUrl: null, addresses: null });
    const { config, state, stays } = slot;
    this.#become(slot, stays ? 'stopped' : 'down');
    if (this.#isEnding) return;
    const wished = state === 'draining';
    if (!wished) {
      const how = code === null ? 'by a signal' : `with ${code}`;
      this.#options.logger.warn(`${config.shard_id} (process ${child.pid}) ended ${how}.`);
    }
    if (stays) return;
    const { settledMs = SETTLED_MS, retryMs = RETRY_MS } = this.#options;
    slot.failures = wished || (wasServing && ranMs >= settledMs) ? 0 : slot.failures + 1;
    slot.restarts += 1;
    const delayMs =
      slot.failures === 0 ? 0 : Math.min(retryMs.most, retryMs.first * 2 ** Math.min(20, slot.failures - 1));
    slot.retry = setTimeout(() => this.#run(slot), delayMs);
  }

  /** Kills a process that does not end in time. */
  #endLate({ config }: Slot, child: ShardProcess | null): void {
    if (!child) return;
    const timer = setTimeout(() => {
      this.#options.logger.error(
        `${config.shard_id} (process ${child.pid}) did not end in time and is killed.`,
      );
      child.kill();
    }, config.drain_timeout_ms + GRACE_MS);
    child.exit.then(() => clearTimeout(timer));
  }

  #endHanging(): void {
    for (const { state, process, config, heardMs } of this.#slots) {
      // A starting shard may wait for a slow database.
      if (!process || state === 'starting' || performance.now() - heardMs < HANG_MS) continue;
      this.#options.logger.error(`${config.shard_id} (process ${process.pid}) hangs: it is killed.`);
      process.kill();
    }
  }
}
