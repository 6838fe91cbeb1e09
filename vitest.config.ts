import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** End-to-end tests with calls, some of which check tones and frames in real time: more than two at a time would disturb each other. */
const IN_REAL_TIME = [
  'voice*',
  'golive',
  'browser*',
  'firefox',
  'calls',
  'privatecalls',
  'sdkcalls',
  'sdkbrowser',
  'players',
  'playground',
  'activitysdk',
].map((name) => `test/e2e/${name}.test.ts`);
/** Tests that count what real sockets carry within seconds: likewise. */
const ALSO_IN_REAL_TIME = ['test/bench/voice.test.ts', 'test/compose/cluster.test.ts'];

/** Tests that share a database within their file, or replace globals of the process: each file by itself. */
const APART = ['test/sdk/**/*.test.ts', 'test/compose/cluster*.test.ts'];

/** The cluster on seeded time; and the same with bugs planted in it. */
const SIMULATION = ['test/suites/sim.test.ts', 'test/suites/planted.test.ts'];

/** Prepares what tests with an embedded database unpack. */
const DATABASES = 'test/support/database.setup.ts';

/** Fails a test in which a server of its process answers otherwise than the operation declares. */
const REPLIES = 'test/support/replies.setup.ts';

/** Two at least, where vitest would take one: a test waits as often as it works. */
const WORKERS = Math.max(2, availableParallelism() - 1);

/** Files that take half a minute and more, which at the end would leave the other worker with nothing to do. */
const LONG =
  /\/(activitysdk|bench|chaos|cli|docsblocks|embed|failureinjection|firefox|firstminutes|hostile|kill9|lobbieshostile|package|pages|pageshostile|playground|sdkcalls|shards|shardscalls|shardskilled|stopping|voicehostile)\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/**
 * XState in the build that the server runs. Its development build, which vitest would take, blames an actor's own first
 * transition on the action in which another actor starts it, and says so on standard error.
 */
const shipped = {
  resolve: {
    alias: [{ find: /^xstate$/, replacement: createRequire(import.meta.url).resolve('xstate') }],
  },
};

const endToEnd = {
  // Real processes meet whatever else the machine does. What passes only when repeated is named at the end of `npm test`.
  retry: 1,
  globalSetup: ['test/support/e2e.setup.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  pool: 'forks' as const,
  // Files of a worker share the modules, as unit tests do.
  isolate: false,
};

/** Unit, property and suite tests. End-to-end tests have a project of their own: they start real processes. */
export default defineConfig({
  test: {
    // Several runs of vitest make up `npm test`: each would transform the same modules again.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...shipped,
        test: {
          name: 'unit',
          globalSetup: [DATABASES],
          setupFiles: [REPLIES],
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/suites/**', 'node_modules/**', ...APART, ...ALSO_IN_REAL_TIME],
          // Files of a worker share the modules: to load them again for each would take longer than the tests.
          pool: 'threads',
          isolate: false,
          maxWorkers: WORKERS,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shipped,
        test: {
          name: 'apart',
          globalSetup: [DATABASES],
          setupFiles: [REPLIES],
          include: APART,
          exclude: ['node_modules/**', ...ALSO_IN_REAL_TIME],
          pool: 'threads',
          maxWorkers: WORKERS,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shipped,
        test: {
          name: 'suites',
          include: ['test/suites/**/*.test.ts'],
          exclude: [...SIMULATION, 'node_modules/**'],
          globalSetup: [DATABASES, 'test/support/postgres.setup.ts'],
          setupFiles: [REPLIES],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          pool: 'forks',
          isolate: false,
          maxWorkers: WORKERS,
        },
      },
      {
        ...shipped,
        test: { name: 'sim', include: SIMULATION, testTimeout: 600_000, pool: 'forks' },
      },
      {
        ...shipped,
        test: {
          ...endToEnd,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [...IN_REAL_TIME, 'node_modules/**'],
          // They wait for processes and timers most of the time: two would leave more than half of two processors idle.
          maxWorkers: 2 * WORKERS,
        },
      },
      {
        ...shipped,
        test: {
          ...endToEnd,
          name: 'realtime',
          globalSetup: [...endToEnd.globalSetup, DATABASES],
          include: [...IN_REAL_TIME, ...ALSO_IN_REAL_TIME],
          // They keep a third of one processor busy.
          maxWorkers: 2,
        },
      },
    ],
  },
});
