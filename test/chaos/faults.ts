import { setTimeout as delay } from 'node:timers/promises';
import type { Ground } from './ground.ts';
import { LEASE_TTL_MS, type Shard } from './shard.ts';
import type { NetworkState } from './system.ts';

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
/** A clock is as wrong as this at most. */
const STEP_MS_MAX = 5 * 60_000;

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
    const state = away(random);
    for (const wire of shard.toEtcd) wire.set(state);
    await delay(between(random, LEASE_TTL_MS / 2, LEASE_TTL_MS * 2));
    for (const wire of shard.toEtcd) wire.set('whole');
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

/** No connection is refused or closed: each end must detect the silence by a time-out. */
const network = (state: NetworkState, what: string): Fault => ({
  name: `its network ${what}`,
  async run(_ground, { machine }, random) {
    await machine?.setNetwork(state);
    await delay(between(random, 1_000, 2 * LEASE_TTL_MS));
    await machine?.setNetwork('whole');
  },
});

/** Its connections stay open at the other ends. */
const powerLost: Fault = {
  name: 'its machine lost power',
  async run(_ground, shard, random) {
    await shard.machine?.setNetwork('down');
    await shard.kill();
    await delay(between(random, 0, 2 * LEASE_TTL_MS));
    await shard.start();
  },
};

/** As a clock is put right after it has been wrong for a while, backwards or forwards. */
const clockStepped: Fault = {
  name: 'its clock stepped, and put right',
  async run(_ground, { machine }, random) {
    machine?.stepClock(between(random, -STEP_MS_MAX, STEP_MS_MAX));
    await delay(between(random, 3_000, 10_000));
    machine?.stepClock(0);
  },
};

/** It ends while its clock is wrong, and the next owners go by theirs. */
const killedOutOfTime: Fault = {
  name: 'its clock stepped, then killed',
  async run(_ground, shard, random) {
    shard.machine?.stepClock(between(random, -STEP_MS_MAX, STEP_MS_MAX));
    await delay(between(random, 3_000, 6_000));
    await shard.kill();
    shard.machine?.stepClock(0);
    await delay(between(random, 0, 2 * LEASE_TTL_MS));
    await shard.start();
  },
};

const journalDiskFull: Fault = {
  name: 'disk of the journals full',
  async run({ journalDisk }, _shard, random) {
    journalDisk?.fill();
    await delay(between(random, 1_000, 8_000));
    journalDisk?.free();
  },
};

/** What the shards have not written then, nobody has. */
const killedWithFullDisk: Fault = {
  name: 'disk of the journals full, then killed',
  async run({ journalDisk }, shard, random) {
    journalDisk?.fill();
    await delay(between(random, 1_000, 4_000));
    await shard.kill();
    journalDisk?.free();
    await shard.start();
  },
};

const databaseDiskFull: Fault = {
  name: 'disk of PostgreSQL full',
  async run({ databaseDisk, postgres }, _shard, random) {
    databaseDisk?.fill();
    await delay(between(random, 2_000, 8_000));
    databaseDisk?.free();
    await postgres?.revive();
  },
};

const memberLost: Fault = {
  name: 'a member of etcd lost',
  run: (ground, _shard, random) => ground.etcd.lose(1, between(random, 1_000, LEASE_TTL_MS * 2)),
};

/** What is left cannot decide anything. */
const quorumLost: Fault = {
  name: 'two of three members of etcd lost',
  run: (ground, _shard, random) => ground.etcd.lose(2, between(random, 0, LEASE_TTL_MS * 1.5)),
};

/** An owner that ends meanwhile has no successor until there is space again, and cannot return. */
const directoryFull: Fault = {
  name: 'etcd out of space',
  async run({ etcd }, shard, random) {
    await etcd.setFull(true);
    let started = Promise.resolve();
    try {
      await delay(between(random, 0, 2_000));
      await shard.kill();
      started = shard.start();
      // Awaited below.
      started.catch(() => undefined);
      await delay(between(random, 0, LEASE_TTL_MS * 1.5));
    } finally {
      await etcd.setFull(false);
    }
    await started;
  },
};

/** Faults of a run with `--system`: one of each, and what is drawn in a longer one. */
export const ONE_OF_EACH_SYSTEM: readonly Fault[] = [
  network('down', 'down'),
  network('deaf', 'losing all that is sent to it'),
  network('mute', 'losing all that it sends'),
  network('narrow', 'narrow and lossy'),
  ...[powerLost, clockStepped, killedOutOfTime, journalDiskFull, killedWithFullDisk, databaseDiskFull],
  ...[memberLost, quorumLost, directoryFull],
];
export const ANY_SYSTEM: readonly Fault[] = [...ONE_OF_EACH_SYSTEM, kill, late, partedFromPeers];
