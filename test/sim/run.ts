import { hits } from './bounds.ts';
import { SimClient } from './client.ts';
import { SimCluster } from './cluster.ts';
import { Database } from './database.ts';
import { SimRegistry } from './directory.ts';
import { SimDisk } from './disk.ts';
import { fleetingOwners, heal, misfortune, outages, preemptions, slowness, staleWriters } from './faults.ts';
import { type Feature, featuresOf } from './features.ts';
import { judgeEnd } from './final.ts';
import { hasStranded } from './finalvoice.ts';
import { judgeFloor, judgeMetrics } from './floor.ts';
import { found, foundPlayers } from './founding.ts';
import { befriend } from './groups.ts';
import { Judge, type Violation } from './judge.ts';
import { LobbyTruth } from './lobbytruth.ts';
import { judgeMatches } from './matches.ts';
import { MergeTruth } from './mergetruth.ts';
import { SimNetwork } from './network.ts';
import { resumableMs, type Scenario, scenarioOf } from './scenario.ts';
import { foundSigningKey } from './signing.ts';
import { Truth } from './truth.ts';
import type { ReceivedInteraction } from './wire.ts';
import { Workload } from './workload.ts';
import { STARTED_MS, World } from './world.ts';

/** Options of a run besides its seed. */
export interface Variant {
  /** Pauses processes before they write. */
  readonly staleWriters?: boolean;
  /** Pauses the machine within turns of its processes. */
  readonly preempted?: boolean;
  /** Moves partitions to and fro within milliseconds. */
  readonly fleeting?: boolean;
  /** Stops the database for seconds. */
  readonly outages?: boolean;
  /** Used instead of the features that the seed draws. */
  readonly features?: readonly Feature[];
}

interface Outcome {
  readonly seed: number;
  readonly scenario: Scenario & { readonly features: readonly Feature[] };
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
  /** Simulated time, and real time. */
  readonly virtualMs: number;
  readonly tookMs: number;
  readonly steps: number;
  readonly fingerprint: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Bounds that the run has hit. */
  readonly bounds: readonly string[];
}

/** After the repair: the time until everything must be served, and until every client must have everything. */
const SERVED_MS = 12_000;
const SETTLED_MS = 18_000;
/** Longer than people in voice without a session stay after a change of owner. */
const RETURN_MS = 65_000;
/** After the last client has left: longer than a session can be resumed and an idle actor stays. */
const FORGOTTEN_MS = 60_000;
/** Features whose users play: each person has a client of the game too. */
const PLAYED: readonly Feature[] = ['lobbies', 'matches', 'links'];
/** One of so many seeds runs on until then, because that takes half as long again. */
const FORGETTING_EVERY = 8;

function build(
  world: World,
  judge: Judge,
  scenario: Scenario,
  features: readonly Feature[],
  isUntroubled: boolean,
  keptMs: number,
) {
  const database = new Database(scenario.lateShare);
  const truth = new Truth(database);
  const lobbyTruth = new LobbyTruth(judge);
  const mergeTruth = new MergeTruth(database, lobbyTruth, judge);
  database.onAccepted = (accepted) => {
    truth.note(accepted);
    lobbyTruth.note(accepted);
    mergeTruth.note(accepted);
    const { shard, ownerId, facts, numbers, at, fence, epoch } = accepted;
    const isLawful = shard === 'founding' || (fence !== null && fence.epoch === epoch);
    judge.expect(
      isLawful,
      'single owner',
      () => `${shard} writes ${ownerId} under ${fence?.epoch}, not ${epoch}`,
    );
    world.note(
      `${shard} commits ${facts.map(({ type }) => type)} of ${ownerId} as ${at}, n ${numbers}, epoch ${fence?.epoch} of ${fence?.partition}`,
    );
  };
  const { users, guilds } = found(world, database, scenario);
  if (features.includes('groups')) befriend(database, users);
  const registry = new SimRegistry(world, scenario.config.partitions, scenario.config.lease_ttl_ms);
  const network = new SimNetwork(world, scenario);
  const disk = new SimDisk('disk', world);
  const cluster = new SimCluster({
    world,
    judge,
    database,
    registry,
    network,
    disk,
    config: scenario.config,
    hasVoice: features.includes('voice'),
  });
  for (let at = 0; at < scenario.shards; at += 1) cluster.add();
  const interacted = (interaction: ReceivedInteraction) => workload.heard(interaction);
  const doors = (end: SimClient) => cluster.connect(end);
  const voiceDoors = (endpoint: string) =>
    cluster.running.find(({ instance }) => instance === endpoint) ?? null;
  const voice = features.includes('voice') ? { voiceDoors } : {};
  const common = { world, judge, truth, interacted, doors, resumableMs: keptMs, ...voice };
  const ports = { ...common, isAuthorized: () => true };
  const isAuthorized = (userId: string) => (database.holdings.get(userId)?.grants.length ?? 0) > 0;
  const second = users.slice(0, scenario.seconds).map((user) => ({ ...user, name: `${user.name}b` }));
  const clients = [...users, ...second].map(
    ({ id, name, token }) => new SimClient(name, id, token, ports as never),
  );
  if (PLAYED.some((feature) => features.includes(feature)))
    for (const { id, name, token } of foundPlayers(world, database, users))
      clients.push(new SimClient(name, id, token, { ...common, lobbies: lobbyTruth, isAuthorized } as never));
  const shard = () => cluster.pick();
  const workload: Workload = new Workload({
    ...{ world, judge, database, shard, users, guilds, clients, features, truth, lobbyTruth, mergeTruth },
    isUntroubled,
  });
  return { world, judge, database, truth, mergeTruth, registry, network, cluster, clients, workload };
}

/** An unhandled rejection is a violation of the current run. */
let current: Judge | null = null;
process.on('unhandledRejection', (error) =>
  current?.expect(false, 'caught', () => String((error as Error).stack)),
);

const isUnsteady = ({ fleeting, outages, preempted, staleWriters }: Variant): boolean =>
  [fleeting, outages, preempted, staleWriters].includes(true);

/** Injects what the variant of the run has besides the faults of its seed. */
function vary(
  parts: ReturnType<typeof build>,
  variant: Variant,
  seed: number,
  { workMs, config }: Pick<Scenario, 'workMs' | 'config'>,
): void {
  if (variant.preempted) preemptions(parts, seed, workMs);
  if (variant.fleeting) fleetingOwners(parts, seed, workMs);
  if (variant.outages) outages(parts, seed, workMs);
  if (variant.staleWriters) staleWriters(parts, workMs, config.lease_ttl_ms);
}

/** Runs one seed. */
const isTroubled = ({ faults, breaks }: Scenario, { preempted, fleeting, outages }: Variant): boolean =>
  faults.length > 0 || breaks > 0 || [preempted, fleeting, outages].includes(true);

export async function simulate(seed: number, variant: Variant = {}): Promise<Outcome> {
  const startedMs = performance.now();
  hits.clear();
  const world = new World(seed);
  const judge = new Judge(world);
  current = judge;
  const features = variant.features ?? featuresOf(seed);
  const scenario = scenarioOf(world, features, seed);
  const hasFaults = isTroubled(scenario, variant);
  // A shard that claims a session may hand everything over before it has the answer.
  const keptMs = variant.fleeting ? 0 : resumableMs(scenario);
  const parts = build(world, judge, scenario, features, !hasFaults, keptMs);
  if (features.includes('merges')) await foundSigningKey(parts.database, STARTED_MS);
  const { clients, workload, database, truth, cluster } = parts;
  const failed = () => judge.failed;
  for (const client of clients) world.after(world.between(0, 2_000), () => client.connect());
  workload.start(scenario.everyMs);
  misfortune(parts, scenario.faults, scenario.faultEveryMs, scenario.workMs);
  if (features.includes('slow')) slowness(parts, seed, scenario.workMs);
  vary(parts, variant, seed, scenario);
  try {
    await world.run(scenario.workMs, failed);
    workload.stop();
    heal(parts);
    world.after(SERVED_MS / 2, () => workload.voice?.calm());
    await world.run(scenario.workMs + SERVED_MS, failed);
    if (!failed()) workload.probe();
    await world.run(scenario.workMs + SERVED_MS + SETTLED_MS / 3, failed);
    if (!failed()) workload.probe();
    let endMs = scenario.workMs + SERVED_MS + SETTLED_MS;
    await world.run(endMs, failed);
    if (!failed() && hasStranded(parts)) {
      endMs += RETURN_MS;
      await world.run(endMs, failed);
    }
    if (!failed()) judgeEnd(parts, scenario, { hasFaults, isUnsteady: isUnsteady(variant) });
    if (!failed()) judgeMatches(cluster.running, judge);
    if (!failed()) parts.mergeTruth.judgeEnd();
    if (!failed()) workload.links?.judgeEnd(scenario.breaks > 0);
    if (!failed()) await judgeMetrics(cluster.running, judge);
    if (seed % FORGETTING_EVERY === 0 && !failed()) {
      for (const client of clients) client.leave();
      await world.run(endMs + FORGOTTEN_MS, failed);
      await judgeFloor(cluster.running, judge);
    }
  } catch (error) {
    judge.expect(false, 'caught', () => String((error as Error).stack));
  }
  const fates = (fate: string) => workload.commands.filter((command) => command.fate === fate).length;
  const sum = (of: (client: SimClient) => number) => clients.reduce((all, client) => all + of(client), 0);
  return {
    ...{ seed, scenario: { ...scenario, features }, violations: judge.violations, trace: world.trace },
    ...{ virtualMs: world.nowMs, steps: world.steps, fingerprint: world.fingerprint },
    tookMs: performance.now() - startedMs,
    bounds: [...hits],
    counts: {
      commits: database.history.length,
      stale: database.refused,
      messages: truth.messages.size,
      commands: workload.commands.length,
      ...{ unknown: fates('unknown'), refused: fates('refused') },
      interactions: database.interactions.size,
      heard: sum(({ life }) => life.seq),
      resumed: sum(({ resumed }) => resumed),
      lost: sum(({ lost }) => lost),
      resyncs: sum(({ life }) => life.resyncs),
    },
  };
}
