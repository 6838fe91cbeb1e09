// Goal: a supervisor starts its shards as one server, keeps them running, and empties them by name without refusing anybody.
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { shardConfigs } from '../../cli/shards.ts';
import { Supervisor } from '../../cli/supervisor.ts';
import { CommandError, type ShardProcess, type World } from '../../cli/world.ts';
import { type Config, DEFAULTS } from '../../config/config.ts';
import { laneOf } from '../../transports/cluster/channel.ts';
import { channelPair } from '../support/channel.ts';
import { fakeEngine, type RunOptions, run } from './arrange.ts';

const ENV = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
const FREE = ['--port', '0', '--admin-port', '0', '--log-level', 'silent'];
/** The demo is made through the first; all others are only started and ended. */
const dev = (...more: string[]) => ['dev', '--json', ...FREE, ...more];

/** Engines that know of the processes that run them. */
function cluster(): RunOptions & { readonly processes: ShardProcess[] } {
  const processes: ShardProcess[] = [];
  const living = new Map<string, number>();
  return {
    processes,
    env: ENV,
    onShard: (shard) => processes.push(shard),
    engine: (config) => {
      const made = fakeEngine(config);
      const id = (config as Config).shard_id as string;
      // At first all are started before any is heard of; later one at a time.
      const shard = living.has(id) ? processes.at(-1) : processes[Number(id.split('-')[1])];
      const pid = shard?.pid as number;
      const row = (name: string, of: number) => ({
        ...{
          id: name,
          pid: of,
          host: 'here',
          address: null,
          admin_url: null,
          version: '0.0.1',
          state: 'serving',
        },
        ...{ sessions: 2, partitions: 3, epoch_lag_ms: 0, journal_bytes: 0, link_bytes: 0, residents: {} },
        uptime_ms: 61_000,
      });
      const status = async () => ({
        ...{ cluster_id: 'guildhall', partitions: 6, partitions_unserved: 0 },
        shards: [...living].map((each) => row(...each)),
      });
      const listen = async () => {
        living.set(id, pid);
        return made.engine.listen();
      };
      return {
        ...made,
        engine: { ...made.engine, listen, cluster: { status, drain: async () => undefined } } as never,
      };
    },
  };
}

interface Line {
  readonly admin: { readonly url: string; readonly token: string };
  readonly shards: readonly { readonly id: string; readonly pid: number }[];
  readonly bots: readonly unknown[];
}

const lineOf = ([line]: readonly string[]): Line => JSON.parse(line as string);

async function rowsOf({ admin }: Line) {
  const headers = { authorization: `Bearer ${admin.token}` };
  const response = await fetch(`${admin.url}/cluster`, { headers });
  return (
    (await response.json()) as { shards: { id: string; pid: number; state: string; restarts: number }[] }
  ).shards;
}

describe('guildhall dev --shards', () => {
  test('runs several processes as one server: one line, one demo, one shutdown', async () => {
    const made = cluster();
    let folder = '';
    const { exitCode, out, engines, configs } = await run(dev('--shards', '3', '--bots', '2'), {
      ...made,
      whileRunning: async (lines) => {
        folder = String(configs0()?.data_dir);
        expect(existsSync(folder)).toBe(true);
        expect((await rowsOf(lineOf(lines))).map(({ id, pid }) => ({ id, pid }))).toEqual(
          lineOf(lines).shards,
        );
      },
      engine: (config) => {
        given.push(config as Config);
        return made.engine!(config);
      },
    });
    expect(exitCode).toBe(0);
    expect(out).toHaveLength(1);
    expect(lineOf(out).shards.map(({ id }) => id)).toEqual(['shard-0', 'shard-1', 'shard-2']);
    expect(lineOf(out).bots).toHaveLength(2);
    expect(engines.map(({ guilds }) => guilds.length)).toEqual([1, 0, 0]);
    for (const { calls } of engines) expect(calls).toEqual(['listen', 'drain', 'close']);
    expect(new Set(configs.map(({ listen_port: port }) => port)).size).toBe(1);
    expect(configs.map(({ admin_port: port }) => port)).toEqual([0, 0, 0]);
    expect(existsSync(folder)).toBe(false);
  });
  const given: Config[] = [];
  const configs0 = () => given[0];

  test('prints its processes and the location of the data in its banner', async () => {
    const { out } = await run(['dev', ...FREE, '--shards', '1'], cluster());
    expect(out.join('\n')).toContain('Shards   shard-0 (process 5001)');
    expect(out.join('\n')).toContain('kept in the database');
  });

  test.each([[['dev']], [['dev', '--data', 'kept']], [['start', '--data', 'kept']]])(
    'is refused for %j, because several shards need PostgreSQL',
    async (argv) => {
      const { exitCode, err, engines } = await run([...argv, ...FREE, '--shards', '2'], { cwd: '/tmp' });
      expect(exitCode).toBe(1);
      expect(err.join('\n')).toContain('2 shards need PostgreSQL');
      expect(err.join('\n')).toContain('Set DATABASE_URL=postgres://');
      expect(engines).toEqual([]);
    },
  );

  test.each(['0', '65', 'many'])('refuses --shards %s', async (shards) => {
    const { exitCode, err } = await run(['dev', '--shards', shards]);
    expect(exitCode).toBe(2);
    expect(err.join()).toContain('whole number from 1 to 64');
  });

  test('exits with the error of the shard that cannot start, and stops the others', async () => {
    const made = cluster();
    const { exitCode, out, engines } = await run(dev('--shards', '2'), {
      ...made,
      engine: (config) => {
        const each = made.engine!(config);
        if ((config as Config).shard_id !== 'shard-1') return each;
        const listen = () => Promise.reject(new Error('bind EADDRINUSE 127.0.0.1:3003'));
        return { ...each, engine: { ...each.engine, listen } };
      },
    });
    expect(exitCode).toBe(1);
    expect(out.join('\n')).toContain('shard-1: The UDP side of calls cannot listen');
    expect(engines[0]?.calls.at(-1)).toBe('close');
  });

  test('restarts a crashed shard, and serves requests meanwhile', async () => {
    const made = cluster();
    const { exitCode, engines } = await run(dev('--shards', '2'), {
      ...made,
      whileRunning: async (lines) => {
        const line = lineOf(lines);
        made.processes[1]?.kill();
        await expect
          .poll(async () => (await rowsOf(line))[1])
          .toMatchObject({ id: 'shard-1', pid: 5003, state: 'serving', restarts: 1 });
        expect((await rowsOf(line))[0]).toMatchObject({ pid: 5001, restarts: 0 });
      },
    });
    expect(exitCode).toBe(0);
    expect(engines).toHaveLength(3);
  });
});

describe('the commands of a cluster', () => {
  test('list the shards, drain and stop a shard, start it again, and restart all', async () => {
    const made = cluster();
    const pids: number[][] = [];
    const said: string[] = [];
    await run(dev('--shards', '2'), {
      ...made,
      whileRunning: async (lines) => {
        const { admin } = lineOf(lines);
        const env = { GUILDHALL_ADMIN_URL: admin.url, GUILDHALL_ADMIN_TOKEN: admin.token };
        const command = async (...argv: string[]) => {
          const { exitCode, out, err } = await run(argv, { env, whilePausing: () => delay(5) });
          expect([exitCode, err]).toEqual([0, []]);
          said.push(out.join('\n'));
          pids.push((await rowsOf(lineOf(lines))).map(({ pid }) => pid));
        };
        await command('cluster', 'status');
        await command('drain', 'shard-1', '--stop');
        await command('cluster', 'start', 'shard-1');
        await command('drain', 'shard-0');
        await command('cluster', 'restart');
        const refused = await run(['drain', 'shard-9'], { env });
        expect([refused.exitCode, refused.err.join()]).toEqual([
          1,
          expect.stringContaining('Unknown shard: shard-9'),
        ]);
        const json = await run(['cluster', 'status', '--json'], { env });
        expect(JSON.parse(json.out[0] as string).shards).toHaveLength(2);
      },
    });
    expect(said[0]).toContain('guildhall: 2 shards, 4 sessions, 6 partitions');
    expect(said[0]).toMatch(/shard-0 +5001 +serving +2 +3 +█{20} +0 +1 min/);
    expect(said[1]).toContain('shard-1 is empty and down');
    expect(said[2]).toContain('shard-1 serves');
    expect(said[4]).toContain('All shards were restarted');
    expect(pids).toEqual([
      [5001, 5002],
      [5001, null],
      [5001, 5003],
      [5004, 5003],
      [5005, 5006],
    ]);
  });

  test('refuse to restart a shard without a supervisor', async () => {
    await run(dev(), {
      whileRunning: async (lines) => {
        const { admin } = lineOf(lines);
        const env = { GUILDHALL_ADMIN_URL: admin.url, GUILDHALL_ADMIN_TOKEN: admin.token };
        for (const argv of [
          ['cluster', 'restart'],
          ['drain', 'shard-0', '--stop'],
        ]) {
          const { exitCode, err } = await run(argv, { env });
          expect([exitCode, err.join()]).toEqual([1, expect.stringMatching(/no supervisor|Nobody here/)]);
        }
      },
    });
  });

  test('a shard is started by its supervisor only', async () => {
    const { exitCode, err } = await run(['shard']);
    expect([exitCode, err.join()]).toEqual([1, expect.stringContaining('started by its supervisor')]);
  });
});

describe('the settings of shards', () => {
  const base: Config = { ...DEFAULTS, database_url: ENV.DATABASE_URL };

  test('assign each shard its own name and ports, counted from the first', () => {
    const given = { ...base, voice_workers: 2, link_port: 4000, voice_endpoint: 'voice.example.org:443/v' };
    const [first, second] = shardConfigs(given, 2, 3000);
    expect(first).toMatchObject({
      shard_id: 'shard-0',
      voice_port: 3002,
      voice_udp_port: 3002,
      link_port: 4000,
    });
    expect(second).toMatchObject({
      ...{ shard_id: 'shard-1', listen_port: 3000, admin_host: '127.0.0.1', admin_port: 0 },
      ...{ voice_port: 3003, voice_udp_port: 3004, voice_webrtc_port: 3023, link_port: 4001 },
      voice_endpoint: 'voice.example.org:444/v',
    });
  });

  test('keep port 0, and use names that differ between machines', () => {
    const given = {
      ...base,
      voice_port: 0,
      voice_udp_port: 0,
      voice_webrtc_port: 0,
      etcd_urls: 'http://127.0.0.1:1',
    };
    const [, second] = shardConfigs({ ...given, voice_endpoint: 'voice.example.org' }, 2, 3000);
    expect(second).toMatchObject({ voice_port: 0, voice_udp_port: 0, voice_webrtc_port: 0, link_port: 0 });
    expect(second?.voice_endpoint).toBe('voice.example.org');
    expect(second?.shard_id).toMatch(/^[a-z0-9][a-z0-9-]*-1$/);
    expect(shardConfigs({ ...base, shard_id: 'west' }, 1, 1)[0]?.shard_id).toBe('west-0');
  });

  test.each([
    ['https://activities.example.org', 8443, [8443, 8444]],
    ['https://activities.example.org:9000', 0, [9000, 9001]],
    ['http://localhost:3080', 0, [3080, 3081]],
    ['https://activities.example.org', 0, [0, 0]],
    [null, 0, [0, 0]],
  ])('serve activities of %s on consecutive ports from %i', (url, port, expected) => {
    const given = { ...base, activities_url: url, activities_port: port };
    expect(shardConfigs(given, 2, 1).map((config) => config.activities_port)).toEqual(expected);
  });

  test('refuse an activities URL that would need a different port for each shard', () => {
    const given = { ...base, activities_url: 'http://localhost' };
    expect(() => shardConfigs(given, 2, 1)).toThrow(/names no port/);
    expect(shardConfigs(given, 1, 1)).toHaveLength(1);
  });

  test('refuse ports beyond 65535', () => {
    expect(() => shardConfigs({ ...base, voice_port: 65_535 }, 2, 1)).toThrow(CommandError);
  });
});

describe('the supervisor', () => {
  test('waits longer before each restart of a crashing shard, and stops on request', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const starts: number[] = [];
    const warned: string[] = [];
    let serves = true;
    const world = {
      randomBytes: (size: number) => new Uint8Array(size),
      startShard(): ShardProcess {
        starts.push(performance.now());
        const { one, other, close } = channelPair();
        const exit = serves ? new Promise<null>((end) => one.onClosed(() => end(null))) : Promise.resolve(1);
        const control = laneOf(other, 'control');
        control.onMessage((order) => {
          const { kind } = order as { kind: string };
          if (kind === 'begin' && serves) control.send({ kind: 'serving', addresses: {}, adminUrl: '' });
          if (kind === 'stop') close();
        });
        return { pid: starts.length, channel: one, exit, kill: close };
      },
    } as unknown as World;
    const supervisor = new Supervisor(world, {
      configs: [{ ...DEFAULTS, shard_id: 'shard-0' }],
      logger: {
        info: () => {},
        warn: (text: unknown) => void warned.push(String(text)),
        error: () => {},
      } as never,
      changed: () => {},
      retryMs: { first: 20, most: 80 },
    });
    const starting = supervisor.start();
    await vi.advanceTimersByTimeAsync(0);
    await starting;
    expect(supervisor.isServed).toBe(true);
    serves = false;
    supervisor.drain('shard-0', false);
    await vi.advanceTimersByTimeAsync(20 + 40 + 80 + 80);
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] as number));
    expect(gaps).toEqual([0, 20, 40, 80, 80]);
    expect(warned[0]).toContain('shard-0 (process 2) ended with 1.');
    expect(await supervisor.stop()).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(starts.length).toBe(6);
  });

  test('keeps the port open while its only shard restarts', async () => {
    const made = cluster();
    await run(dev('--shards', '1', '--set', 'listen_port=0'), {
      ...made,
      whileRunning: async (lines) => {
        const headers = { authorization: `Bearer ${lineOf(lines).admin.token}` };
        const metrics = await (await fetch(`${lineOf(lines).admin.url}/metrics`, { headers })).text();
        expect(metrics).toContain('guildhall_supervisor_shards_serving 1');
        expect(metrics).toContain('guildhall_supervisor_connections 0');
        const port = given.at(-1)?.listen_port as number;
        // The engine of this test listens nowhere.
        const socket = connect(port, '127.0.0.1');
        await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
        socket.destroy();
      },
      engine: (config) => {
        given.push(config as Config);
        return made.engine!(config);
      },
    });
  });
  const given: Config[] = [];
});
