import type { Logger } from 'pino';
import type { ShardOwnership } from '../../actors/cluster/membership/ownership.ts';
import { createActors, NO_CALLS } from '../../compose/actors.ts';
import type { Foundation } from '../../compose/foundation.ts';
import { foundationOf } from '../../compose/foundation.ts';
import { type Config, DEFAULTS } from '../../config/config.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import { Allowance } from '../../engine/session/allowance.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { Metric } from '../../protocol/metrics.ts';
import { OP } from '../../protocol/opcodes.ts';
import { StaleEpoch, StorageFault } from '../../storage/database/driver.ts';
import { Outbox } from '../../transports/gateway/outbox.ts';
import { GatewaySocket, type SocketHost } from '../../transports/gateway/socket.ts';
import { standstillMs } from '../../transports/http/standstill.ts';
import type { Database, Stale } from './database.ts';
import { SimDirectory, type SimRegistry } from './directory.ts';
import type { SimDisk } from './disk.ts';
import type { Judge } from './judge.ts';
import { joined } from './membership.ts';
import type { SimLinks, SimNetwork } from './network.ts';
import { defineQueue } from './queue.ts';
import { simStorage } from './storage.ts';
import { DatabaseLine, type DatabaseWay } from './storeof.ts';
import { createSimVoice, type SimVoice } from './voice.ts';
import { SIM_LANE, Wire, type WireEnd } from './wire.ts';
import { Host, HostClock, type World } from './world.ts';

const staleFault = ({ fence }: Stale): Error => new StaleEpoch(fence);

const SWEEP_MS = 1_000;
const DRAIN_MS = 1_500;
/** Longer than any message takes: messages of a process arrive although it ends. */
const ANSWERED_MS = 500;
const TIMES = { identify_timeout_ms: 10_000 };
const SOCKETS = {
  heartbeatIntervalMs: 5_000,
  heartbeatGraceMs: 4_000,
  identifyTimeoutMs: TIMES.identify_timeout_ms,
  // Few dispatches fill it: only frames to a client that reads nothing are buffered here.
  socketBufferBytesMax: 1 << 14,
  closeGraceMs: 1_000,
};

export interface ShardPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  readonly registry: SimRegistry;
  readonly network: SimNetwork;
  readonly disk: SimDisk;
  readonly config: Partial<Config>;
  /** Whether calls are served. */
  readonly hasVoice: boolean;
}

/** The connections of one shard to the rest of the world; they outlive its runs. */
export interface ShardWays {
  /** The clock error of its next run. */
  readonly skew: () => { readonly offsetMs: number; readonly rate: number };
  readonly database: DatabaseWay;
  readonly directory: { cut: boolean };
}

/** One run of one shard: a process with actors, sockets, and connections to the rest of the world. */
export class SimShard {
  readonly id: string;
  readonly instance: string;
  readonly host: Host;
  readonly clock: HostClock;
  readonly line: DatabaseLine;
  readonly server: ReturnType<typeof createActors>;
  readonly ownership: ShardOwnership;
  /** Null in runs without calls. */
  readonly voice: SimVoice | null;
  readonly links: SimLinks;
  /** Whether it accepts new connections. */
  listens = false;
  readonly #directory: SimDirectory;
  readonly #foundation: Foundation;
  readonly #ports: ShardPorts;
  readonly #wires = new Set<Wire>();
  readonly #sockets = new Set<GatewaySocket>();
  readonly #bereaved: (() => void)[] = [];
  readonly #socketHost: SocketHost;

  constructor(id: string, run: number, ways: ShardWays, ports: ShardPorts) {
    const { world, database, registry, network, disk } = ports;
    this.id = id;
    this.instance = `${id}.${run}`;
    this.#ports = ports;
    this.host = new Host(this.instance);
    this.clock = new HostClock(world, this.host, ways.skew());
    this.line = new DatabaseLine(world, this.host, database, ways.database);
    const foundation = this.#founded({ ...DEFAULTS, rate_limits: false, ...TIMES, ...ports.config });
    const storage = simStorage(this.line, staleFault, foundation.config);
    const directory = new SimDirectory(registry, this.host, this.clock, ways.directory);
    this.#directory = directory;
    const self = {
      ...{ id, instance: this.instance, address: id, adminUrl: null, host: 'sim', pid: 1, weight: 100 },
      ...{ version: '0.0.0', startedMs: this.clock.now() },
    };
    const member = joined(self, { foundation, storage, directory, network, host: this.host });
    const nowMs = () => this.clock.now();
    const journals = {
      store: disk.store(this.host, nowMs),
      writer: disk.begin(id, this.instance, this.host, nowMs),
    };
    this.#foundation = { ...foundation, nextId: member.nextId };
    this.ownership = member.ownership;
    this.links = member.links;
    this.server = createActors(this.#foundation, storage, {
      gatewayUrl: () => `ws://${id}`,
      publicUrl: () => 'http://sim',
      cluster: { ...member.cluster, journals },
      voiceListener: () => this.voice?.voiceListener ?? NO_CALLS,
      stream: (session, request) => this.voice?.ask(session, request),
    });
    const voicePorts = { ...this.#foundation, ...this.server };
    this.voice = ports.hasVoice ? createSimVoice(voicePorts, this.instance) : null;
    defineQueue(this.server.features.matchmaking);
    this.#listenIn();
    this.#socketHost = this.#gateway();
    this.#sweep();
  }

  get metrics(): readonly Metric[] {
    return this.#foundation.metrics;
  }

  /** For how long its lease is safe, in milliseconds. */
  get leaseLeftMs(): number {
    return this.#directory.safeUntilMs() - this.clock.monotonic();
  }

  /** Enters the cluster, then opens its port. */
  start(): void {
    const { world } = this.#ports;
    this.ownership.start().then(
      () => {
        world.note(`${this.instance} serves`);
        this.listens = true;
      },
      (error) => world.note(`${this.instance} does not serve: ${error}`),
    );
  }

  /** A client connects. */
  accept(client: WireEnd): Wire {
    const { world } = this.#ports;
    const wire = new Wire(world, this.host, client, this.#ports.judge, SOCKETS.socketBufferBytesMax);
    const dialect = { version: 10, encoding: 'json', lane: SIM_LANE } as const;
    const socket = new GatewaySocket('sim', dialect, this.#socketHost);
    wire.socket = socket;
    this.#wires.add(wire);
    world.after(
      world.between(1, 20),
      () => {
        this.#sockets.add(socket);
        socket.opened(wire);
      },
      this.host,
    );
    return wire;
  }

  /** Calls `run` when the process dies. */
  onKilled(run: () => void): void {
    this.#bereaved.push(run);
  }

  /** A graceful end: hands over, moves clients to other shards, and leaves. */
  drain(then: () => void): void {
    const { world } = this.#ports;
    this.listens = false;
    const close = async () => {
      await this.server.storage.writer.flush().catch(() => undefined);
      await this.ownership.close();
      await this.server.close();
      this.voice?.calls.close();
      this.links.refuse();
      this.clock.setTimer(() => {
        world.note(`${this.instance} has ended`);
        this.kill();
        then();
      }, ANSWERED_MS);
    };
    const sendOn = () => {
      for (const socket of this.#sockets)
        this.clock.setTimer(() => socket.send(OP.RECONNECT, null), world.between(0, DRAIN_MS / 2));
      this.clock.setTimer(() => void close(), DRAIN_MS);
    };
    let sent = false;
    const once = () => {
      if (sent) return;
      sent = true;
      sendOn();
    };
    this.clock.setTimer(once, DRAIN_MS);
    void this.ownership.drain().then(once);
  }

  /** kill -9. */
  kill(): void {
    this.host.alive = false;
    this.listens = false;
    this.#ports.network.died(this.links);
    this.#ports.disk.died(this.host);
    for (const run of this.#bereaved) run();
    for (const wire of this.#wires) wire.died();
  }

  /** Traces subscriptions to guilds, with their positions. */
  #listenIn(): void {
    const { world } = this.#ports;
    const { guilds } = this.server;
    const enter = guilds.enter.bind(guilds);
    guilds.enter = async (guildId, entering) => {
      const outcomes = await enter(guildId, entering);
      const told = entering.map(
        ({ subscriber, after }, at) => `${subscriber.userId} after ${after}: ${outcomes[at]}`,
      );
      world.note(`${this.instance} subscribes to ${guildId}: ${told.join(', ')}`);
      return outcomes;
    };
    const { call } = guilds;
    const traced: typeof call = (guildId, type, input, authority) => {
      if (type === 'setPresence') {
        const { userId, presence, n } = input as GuildCommands['setPresence']['input'];
        world.note(
          `${this.instance} hears of ${userId} in ${guildId}: ${presence?.status ?? 'offline'}, n ${n}`,
        );
      }
      return call(guildId, type, input, authority);
    };
    Object.assign(guilds, { call: traced });
  }

  #gateway(): SocketHost {
    const defer = (task: () => void) => this.clock.defer(task);
    return {
      limits: SOCKETS,
      port: this.server.sessions,
      newAllowance: () => new Allowance(),
      outbox: new Outbox({ defer }, () => this.server.sessions.journal?.flush()),
      counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
      nowMs: () => this.clock.monotonic(),
      defer,
      onFault: (error) => this.#foundation.onFault(error, 'gateway'),
      hello: () => SIM_LANE.control(OP.HELLO, { heartbeat_interval: SOCKETS.heartbeatIntervalMs }),
      laneOf: (lane) => lane,
      onGone: (socket) => this.#sockets.delete(socket),
    };
  }

  #sweep(): void {
    const dueMs = this.clock.monotonic() + SWEEP_MS;
    this.clock.setTimer(() => {
      const nowMs = this.clock.monotonic();
      const lostMs = standstillMs(nowMs, dueMs, SWEEP_MS);
      for (const socket of [...this.#sockets]) {
        socket.extendDeadlines(lostMs);
        socket.sweep(nowMs);
      }
      this.#sweep();
    }, SWEEP_MS);
  }

  #founded(config: Config): Foundation {
    const { world, judge } = this.#ports;
    const log = (level: string) => (facts: unknown, text?: string) => {
      world.note(`${this.host.name} ${level}: ${text ?? ''} ${describe(facts)}`);
      if (level === 'error' && text?.includes('bug') && !isFault(facts))
        judge.expect(false, 'bug', () => `${this.host.name}: ${describe(facts)}`);
    };
    const silent = () => undefined;
    const logger = { error: log('error'), warn: log('warn'), fatal: log('error') };
    const foundation = foundationOf({
      config,
      clock: this.clock,
      logger: { ...logger, info: silent, debug: silent, trace: silent, level: 'silent' } as unknown as Logger,
      randomBytes: (size) => Uint8Array.from({ length: size }, () => world.random.below(256)),
    });
    return foundation;
  }
}

/** A fault of the environment while an actor was stored, not a bug of the actor. */
const isFault = (facts: unknown): boolean =>
  facts instanceof Object &&
  'err' in facts &&
  (facts.err instanceof StorageFault || facts.err instanceof NotServed);

function describe(facts: unknown): string {
  if (typeof facts !== 'object' || facts === null) return String(facts);
  return Object.entries(facts)
    .map(
      ([key, value]) =>
        `${key}=${value instanceof Error ? (value.stack ?? '').split('\n').slice(0, 6).join(' | ') : String(value)}`,
    )
    .join(' ');
}
