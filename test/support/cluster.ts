import type { HandoverParticipant } from '../../actors/cluster/membership/handover.ts';
import { handoverOf } from '../../actors/cluster/membership/handover.ts';
import { SHARD_PARTS } from '../../actors/cluster/parts.ts';
import { routingOver } from '../../actors/cluster/routing/routed.ts';
import { createRouter } from '../../actors/cluster/routing/router.ts';
import type {
  ClusterView,
  Owner,
  Ownership,
  OwnershipChange,
  ShardInfo,
} from '../../actors/placement/ports.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { createActors } from '../../compose/actors.ts';
import { foundationOf } from '../../compose/foundation.ts';
import { createVoice, type Voice } from '../../compose/voice.ts';
import { type Config, DEFAULTS } from '../../config/config.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { openJournals } from '../../storage/journal/openjournals.ts';
import { openStorage } from '../../storage/open.ts';
import type { Storage } from '../../storage/ports.ts';
import { MemoryNet } from './clusterlinks.ts';
import { operatorOf, RecordingSink } from './instance.ts';

const PARTITIONS = 16;

/** Any mixing will do: the last bits of ids made in one go are alike. */
const partitionOf = (id: string): number => {
  let hash = 2166136261;
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 16777619);
  return ((hash ^ (hash >>> 15)) >>> 0) % PARTITIONS;
};

/** Owners of the partitions, set by the test; every living shard sees a change at once. */
class Script {
  readonly shards = new Map<string, ShardInfo>();
  readonly owners: (Owner | null)[] = Array.from({ length: PARTITIONS }, () => null);
  readonly hearers = new Map<string, Set<(change: OwnershipChange) => void>>();
  #revision = 0;
  #view: ClusterView | null = null;

  get view(): ClusterView {
    this.#view ??= { revision: this.#revision, shards: [...this.shards.values()], owners: [...this.owners] };
    return this.#view;
  }

  tell(change: Partial<OwnershipChange>): void {
    this.#revision += 1;
    this.#view = null;
    for (const hearers of [...this.hearers.values()])
      for (const hear of [...hearers]) hear({ moved: [], gone: [], came: [], ...change });
  }
}

/** Serves what the script says is this shard's, but for what it is giving away. */
class ScriptedOwnership implements Ownership {
  readonly self: ShardInfo;
  readonly leaving = new Set<number>();
  /** How many looks at the lease find it safe before one finds it unsafe; negative: all find it safe. */
  looksUntilUnsafe = -1;
  onStale: (partition: number) => void = () => undefined;
  state: Ownership['state'] = 'serving';
  readonly #script: Script;
  readonly #hearers = new Set<(change: OwnershipChange) => void>();

  constructor(self: ShardInfo, script: Script) {
    this.self = self;
    this.#script = script;
    script.hearers.set(self.id, this.#hearers);
  }

  get view() {
    return this.#script.view;
  }

  get knowsMembers() {
    return this.state === 'serving' || this.state === 'draining';
  }

  partitionOf(id: string) {
    return partitionOf(id);
  }

  owns(id: string) {
    const partition = partitionOf(id);
    return this.#isMine(partition) && !this.leaving.has(partition) && this.state === 'serving';
  }

  ownerOf(id: string) {
    return this.#script.owners[partitionOf(id)] ?? null;
  }

  /** The fence of a partition. A partition that is being handed over keeps it, so that commits under way can finish. */
  fenceOf(id: string) {
    if (this.looksUntilUnsafe >= 0 && this.looksUntilUnsafe-- === 0) return null;
    const partition = partitionOf(id);
    const owner = this.#script.owners[partition];
    return owner && this.state === 'serving' ? { partition, epoch: owner.epoch } : null;
  }

  onChange(run: (change: OwnershipChange) => void) {
    this.#hearers.add(run);
    return () => void this.#hearers.delete(run);
  }

  stale(partition: number, epoch?: number): void {
    const owner = this.#script.owners[partition];
    if (owner?.instance === this.self.instance && owner.epoch === epoch) this.onStale(partition);
  }

  async drain() {}

  async close() {}

  #isMine(partition: number) {
    return this.#script.owners[partition]?.instance === this.self.instance;
  }
}

const DISK_MS_MAX = 10_000;
const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
const isDiskBusy = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));

/** Virtual time stands still while files are read and written: on a busy machine it would outrun them by seconds. */
async function diskIsIdle(): Promise<void> {
  const untilMs = performance.now() + DISK_MS_MAX;
  while (isDiskBusy() && performance.now() < untilMs) await turnOfLoop();
}

let shared: Promise<Storage> | null = null;
/** One database for all clusters of a test file: opening one takes seconds. */
const sharedStorage = () => {
  shared ??= openStorage();
  return shared;
};
let instances = 0;

interface Setting {
  readonly clock: VirtualClock;
  readonly net: MemoryNet;
  readonly script: Script;
  readonly storage: Storage;
  readonly config: Config;
}

/** One shard: an instance and its ways to the others. */
async function openShard(index: number, { clock, net, script, storage, config }: Setting) {
  const id = `shard-${index}`;
  instances += 1;
  const worker = instances % 1024;
  const info: ShardInfo = {
    ...{ id, worker, instance: `run${instances}`, address: id, adminUrl: null, host: 'here', pid: 1 },
    ...{ weight: 100, version: '0.0.0', startedMs: clock.now(), draining: false },
  };
  const foundation = foundationOf({ clock, workerId: worker, config });
  const ownership = new ScriptedOwnership(info, script);
  const links = net.open(info, () => router.handler);
  const router = createRouter({
    ...{
      ownership,
      links,
      clock,
      wheel: foundation.wheel,
      scope: foundation.lifetime,
      randomBytes: foundation.randomBytes,
    },
    deadlineMs: config.command_deadline_ms,
    onFault: (where, fault) => foundation.onFault(fault, where),
  });
  script.shards.set(id, info);
  const participants = new Map<string, HandoverParticipant>();
  const journals = config.journal_dir === null ? null : await openJournals(foundation, info);
  const tenancy = handoverOf(participants);
  const instance = createActors(foundation, storage, {
    gatewayUrl: () => `ws://${id}`,
    publicUrl: () => 'http://test',
    cluster: {
      ...{ ownership, router, links, participants, journals, parts: SHARD_PARTS },
      routing: routingOver({ ownership, router }),
      directory: null,
      admits: (aggregateId) => ownership.owns(aggregateId),
    },
    voiceListener: () => voice.voiceListener,
    stream: (session, request) => voice.ask(session, request),
  });
  // Without media: of calls there are the seats, and the tickets to them.
  const voice: Voice = createVoice({ ...foundation, ...instance, watch: null });
  const operator = operatorOf(instance, storage);
  async function connect(token: string, intents = ALL_INTENTS, shard: readonly [number, number] = [0, 1]) {
    const sink = new RecordingSink();
    const outcome = await instance.sessions.identify(
      { token, intents, shard, largeThreshold: 50, presence: null, version: 10, capabilities: 0 },
      sink,
    );
    if (outcome.kind !== 'open') throw new Error(`not open: ${JSON.stringify(outcome)}`);
    return { sink, session: outcome.session };
  }
  const resume = (token: string, sessionId: string, seq: number, sink = new RecordingSink()) =>
    instance.sessions.resume({ token, sessionId, seq }, sink).then((outcome) => ({ sink, outcome }));
  return {
    ...instance,
    voice,
    resume,
    id,
    info,
    index,
    foundation,
    ownership,
    router,
    links,
    tenancy,
    operator,
    connect,
  };
}

export type ClusterInstance = Awaited<ReturnType<typeof openShard>>;

/**
 * Houses of one cluster in one process, over one database in memory, a virtual clock and links that carry only what can
 * travel. Partitions are dealt out in turn; nothing moves but when the test says so.
 */
export async function openCluster(shards = 2, config: Partial<Config> = {}) {
  const clock = new VirtualClock();
  const script = new Script();
  const setting: Setting = {
    ...{ clock, script },
    net: new MemoryNet(clock),
    storage: await sharedStorage(),
    // People of these tests need not know each other to write; those of blocks say what they are.
    config: {
      ...DEFAULTS,
      rate_limits: false,
      direct_messages_from: 'everyone',
      ...config,
      log_level: 'silent',
    },
  };
  const indexes = Array.from({ length: shards }, (_, index) => index);
  const instances = await Promise.all(indexes.map((index) => openShard(index, setting)));
  const cluster = new TestCluster(setting, instances);
  for (const each of instances)
    await cluster.adopt(
      each,
      script.owners.flatMap((_, partition) => (partition % shards === each.index ? [partition] : [])),
    );
  return cluster;
}

/** The whole of it, and what a test may do to it. */
export class TestCluster {
  readonly clock: VirtualClock;
  readonly net: MemoryNet;
  readonly storage: Storage;
  readonly instances: readonly ClusterInstance[];
  readonly #script: Script;

  constructor({ clock, net, storage, script }: Setting, instances: readonly ClusterInstance[]) {
    this.clock = clock;
    this.net = net;
    this.storage = storage;
    this.instances = instances;
    this.#script = script;
    for (const instance of instances)
      instance.ownership.onStale = (partition) => this.#claimAgain(instance, partition);
  }

  /** Ends what is in a partition, and takes it over under its next epoch. */
  #claimAgain(instance: ClusterInstance, partition: number): void {
    this.#script.owners[partition] = null;
    instance.tenancy.abandon((id) => partitionOf(id) === partition);
    this.#script.tell({ moved: [partition] });
    void this.adopt(instance, [partition]);
  }

  instance(index: number): ClusterInstance {
    const found = this.instances[index];
    if (!found) throw new RangeError(`There is no shard ${index}.`);
    return found;
  }

  #ownerOf(id: string): ClusterInstance | undefined {
    const owner = this.#script.owners[partitionOf(id)];
    return this.instances.find(({ info }) => info.instance === owner?.instance);
  }

  /** The instance that owns this id now. */
  ownerOf(id: string): ClusterInstance {
    const found = this.#ownerOf(id);
    if (!found) throw new Error(`Nobody owns ${id}.`);
    return found;
  }

  /** What `make` creates until the instance owns it. */
  async ownedBy<T>(owner: ClusterInstance, make: () => Promise<T>, idOf: (made: T) => string): Promise<T> {
    for (;;) {
      const made = await this.while(make());
      if (this.ownerOf(idOf(made)) === owner) return made;
    }
  }

  /** A living instance that does not own this id. */
  strangerTo(id: string): ClusterInstance {
    const found = this.instances.find(
      (each) => each !== this.#ownerOf(id) && this.#script.shards.has(each.id),
    );
    if (!found) throw new Error(`Nobody else than the owner of ${id} is alive.`);
    return found;
  }

  /** Gives the partition of this id to a shard, as a handover does; null: to none. */
  async move(id: string, to: ClusterInstance | null): Promise<void> {
    const partition = partitionOf(id);
    const from = this.#ownerOf(id);
    if (from) {
      from.ownership.leaving.add(partition);
      await this.while(from.tenancy.handOver((other) => partitionOf(other) === partition, 5000));
      from.ownership.leaving.delete(partition);
      this.#script.owners[partition] = null;
    }
    if (to) await this.adopt(to, [partition]);
    else this.#script.tell({ moved: [partition] });
  }

  /** Ends a shard as SIGKILL does; returns what it owned, which has no owner until a shard adopts it. */
  kill(victim: ClusterInstance): readonly number[] {
    const script = this.#script;
    this.net.kill(victim.id);
    victim.ownership.state = 'left';
    script.shards.delete(victim.id);
    script.hearers.delete(victim.id);
    const orphaned = script.owners.flatMap((owner, partition) =>
      owner?.instance === victim.info.instance ? [partition] : [],
    );
    for (const partition of orphaned) script.owners[partition] = null;
    victim.tenancy.abandon(() => true);
    victim.foundation.wheel.stop();
    script.tell({ moved: orphaned, gone: [victim.info] });
    return orphaned;
  }

  /** A shard takes partitions without an owner. */
  async adopt(to: ClusterInstance, partitions: readonly number[]): Promise<void> {
    const epochs = await this.while(this.storage.cluster.takeOver(partitions, to.id));
    const { id: shardId, instance } = to.info;
    for (const partition of partitions)
      this.#script.owners[partition] = { shardId, instance, epoch: epochs.get(partition) ?? 0 };
    this.#script.tell({ moved: partitions });
  }

  /** Waits until `done` holds: real I/O gets its turns, and each of them takes a virtual millisecond, or so many. */
  async until(done: () => boolean, what = 'the expected', stepMs = 1): Promise<void> {
    for (let turn = 0; turn < 20_000; turn += 1) {
      if (done()) return;
      await diskIsIdle();
      this.clock.advance(stepMs);
      await turnOfLoop();
    }
    throw new Error(`${what} did not happen`);
  }

  /** The value of a promise, while time goes on. */
  async while<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    await this.until(() => settled, 'an answer');
    return promise;
  }

  /** Lets time pass, with real I/O in between. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.monotonic() + ms;
    await this.until(() => this.clock.monotonic() >= untilMs, 'that time', Math.max(1, Math.ceil(ms / 5000)));
  }

  /** A guild with its owner and a bot, made by the first instance. */
  async found() {
    const { operator } = this.instance(0);
    const { user, token: ownerToken } = await this.while(operator.createUser({ username: 'owner' }));
    const ownerId = user.id as UserId;
    const guild = await this.while(operator.createGuild({ name: 'Test', ownerId }));
    const guildId = guild.id as GuildId;
    const made = await this.while(operator.createApplication({ name: 'Bot' }));
    const botId = made.bot.id as UserId;
    await this.while(operator.addMember({ guildId, userId: botId, permissions: 8n }));
    return {
      ...{ ownerId, ownerToken, guildId, guild, botId, botToken: made.botToken },
      applicationId: made.application.id as ApplicationId,
    };
  }

  close(): void {
    for (const each of this.instances) {
      each.close();
      each.foundation.wheel.stop();
    }
  }
}
