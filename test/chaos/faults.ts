import { setTimeout as delay } from 'node:timers/promises';
import { type Ground, LEASE_TTL_MS, type Shard } from './ground.ts';

/** A fault of one shard, or of something that all shards share. */
export interface Fault {
  readonly name: string;
  run(ground: Ground, shard: Shard, random: () => number): Promise<void>;
}

const between = (random: () => number, from: number, to: number): number => from + random() * (to - from);
/** How a network takes something away: with a refusal, or without a word. */
const away = (random: () => number): 'cut' | 'held' => (random() < 0.5 ? 'cut' : 'held');
/** By when others have what a silent shard had. */
const TAKEN_MS = LEASE_TTL_MS + 2_500;

const kill: Fault = {
  name: 'killed and started again',
  async run(_ground, shard, random) {
    await shard.kill();
    await delay(between(random, 0, 2_000));
    await shard.start();
  },
};

const pauseFor = (ms: number): Fault => ({
  name: `stopped for ${ms / 1_000} s`,
  async run(_ground, shard) {
    shard.signal('SIGSTOP');
    await delay(ms);
    shard.signal('SIGCONT');
  },
});

const partedFromEtcd: Fault = {
  name: 'parted from etcd',
  async run(_ground, shard, random) {
    shard.toEtcd.set(away(random));
    await delay(between(random, LEASE_TTL_MS / 2, LEASE_TTL_MS * 2));
    shard.toEtcd.set('whole');
  },
};

const partedFromDatabase: Fault = {
  name: 'parted from PostgreSQL',
  async run(_ground, shard, random) {
    shard.toDatabase.set(away(random));
    await delay(between(random, 1_000, 5_000));
    shard.toDatabase.set('whole');
  },
};

const partedFromPeers: Fault = {
  name: 'parted from its peers',
  async run(ground, shard, random) {
    ground.part(shard, away(random));
    await delay(between(random, 1_000, 5_000));
    ground.part(shard, 'whole');
  },
};

const etcdRestarted: Fault = {
  name: 'etcd restarted',
  run: (ground, _shard, random) => ground.etcd.restart(between(random, 0, LEASE_TTL_MS * 1.5)),
};

const postgresRestarted: Fault = {
  name: 'PostgreSQL restarted',
  run: async (ground, _shard, random) => ground.postgres?.restart(between(random, 0, 2_000)),
};

const postgresCrashed: Fault = {
  name: 'PostgreSQL crashed',
  run: async (ground, _shard, random) => ground.postgres?.crash(between(random, 0, 2_000)),
};

const primaryLost: Fault = {
  name: 'primary lost, standby promoted',
  run: async ({ patroni }) => patroni?.loseThePrimary(),
};

/** The former primary goes on with the commits that it had received, after another has taken its place. */
const primaryHung: Fault = {
  name: 'primary stopped until the standby was promoted',
  run: async ({ patroni }) => patroni?.hangThePrimary(),
};

const primarySwitched: Fault = {
  name: 'primary switched',
  run: async ({ patroni }) => patroni?.switchOver(),
};

/** The shard may have forwarded nothing of its last messages, and its peers cannot ask it. */
const killedWhileParted: Fault = {
  name: 'parted from its peers, then killed',
  async run(ground, shard, random) {
    ground.part(shard, away(random));
    await delay(between(random, 200, 4_000));
    await shard.kill();
    await delay(between(random, 0, 2_000));
    ground.part(shard, 'whole');
    await shard.start();
  },
};

/** Its partitions return to it while its peers cannot reach it, and then it dies. */
const killedOnReturn: Fault = {
  name: 'stopped, parted on its return, then killed',
  async run(ground, shard, random) {
    shard.signal('SIGSTOP');
    await delay(TAKEN_MS);
    shard.signal('SIGCONT');
    await delay(between(random, 0, 3_000));
    ground.part(shard, away(random));
    await delay(between(random, 1_000, 5_000));
    ground.part(shard, 'whole');
    await delay(between(random, 0, 2_000));
    await shard.kill();
    await delay(between(random, 0, 2_000));
    await shard.start();
  },
};

/**
 * The shard's commits are on their way to the database while the shard is stopped, and arrive long after other shards have
 * taken over: only the fence can refuse them.
 */
const late: Fault = {
  name: 'stopped while its commits are on their way',
  async run(_ground, shard) {
    shard.toDatabase.set('held');
    await delay(400);
    shard.signal('SIGSTOP');
    await delay(TAKEN_MS);
    shard.toDatabase.set('whole');
    await delay(500);
    shard.signal('SIGCONT');
  },
};

/** A schedule of the short run: one of each, in an order of the seed. */
export const ONE_OF_EACH: readonly Fault[] = [
  ...[late, kill, partedFromEtcd, partedFromDatabase, partedFromPeers, etcdRestarted, postgresCrashed],
  pauseFor(12_000),
];
/** Faults of the long run, drawn by the seed for as long as there is time. */
export const ANY: readonly Fault[] = [
  ...ONE_OF_EACH,
  ...[kill, late, killedWhileParted, killedOnReturn, postgresRestarted, pauseFor(30_000)],
];

/** Faults of a run with `--patroni`: one of each, and what is drawn in a longer one. */
export const ONE_OF_EACH_PATRONI: readonly Fault[] = [primaryLost, primaryHung, primarySwitched];
export const ANY_PATRONI: readonly Fault[] = [
  ...ONE_OF_EACH_PATRONI,
  ...[primaryLost, kill, late, partedFromDatabase, etcdRestarted],
];
