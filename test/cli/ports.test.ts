// Goal: ports that are in use are named all at once before anything is opened; `dev` takes free ones in their place and says so.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { refusedPorts, wantedPorts, withFreePorts } from '../../cli/ports.ts';
import { shardConfigs } from '../../cli/shards.ts';
import type { World } from '../../cli/world.ts';
import { type Config, DEFAULTS } from '../../config/config.ts';
import { run } from './arrange.ts';

let folder: string;
let closing: (() => void)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-ports-'));
});
afterEach(async () => {
  for (const close of closing) close();
  closing = [];
  await rm(folder, { recursive: true });
});

/** A port that somebody else has, below those from which `dev` cannot go on. */
async function takenTcp(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function takenUdp(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  closing.push(() => socket.close());
  return socket.address().port;
}

const LOCAL: Config = {
  ...DEFAULTS,
  listen_port: 0,
  admin_port: 0,
  voice_port: 0,
  voice_udp_port: 0,
  voice_webrtc_port: 0,
};

describe('ports in use', () => {
  test('are listed all at once, the client port first, with the flags that select free ones', async () => {
    const [main, admin, voice] = [await takenTcp(), await takenTcp(), await takenTcp()];
    const [media, browsers] = [await takenUdp(), await takenUdp()];
    const set = [`voice_port=${voice}`, `voice_udp_port=${media}`, `voice_webrtc_port=${browsers}`];
    const argv = [
      '--port',
      String(main),
      '--admin-port',
      String(admin),
      ...set.flatMap((each) => ['--set', each]),
    ];
    for (const command of ['start', 'dev']) {
      const { exitCode, err, engines } = await run([command, ...argv], { cwd: folder, refusedPorts });
      expect([exitCode, engines, err.length]).toEqual([1, [], 1]);
      expect(err[0]?.split('\n')).toEqual([
        `guildhall: The server cannot listen on 127.0.0.1:${main} (listen_port): the port is in use.`,
        `The admin API cannot listen on 127.0.0.1:${admin} (admin_port): the port is in use.`,
        `The voice gateway cannot listen on 127.0.0.1:${voice} (voice_port): the port is in use.`,
        `The UDP side of calls cannot listen on 127.0.0.1:${media} (voice_udp_port): the port is in use.`,
        `The WebRTC side cannot listen on 127.0.0.1:${browsers} (voice_webrtc_port): the port is in use.`,
        'Is another server running there? Stop it, or take free ports with --port 0 --admin-port 0 --set voice_port=0 ' +
          '--set voice_udp_port=0 --set voice_webrtc_port=0.',
      ]);
    }
  });

  test('are listed for every shard before the first one is started', async () => {
    const [admin, voice] = [await takenTcp(), await takenTcp()];
    const started: unknown[] = [];
    const argv = ['start', '--shards', '2', '--port', '0', '--admin-port', String(admin)];
    const set = [`voice_port=${voice - 1}`, 'voice_udp_port=0', 'voice_webrtc_port=0'];
    const { exitCode, err } = await run([...argv, ...set.flatMap((each) => ['--set', each])], {
      cwd: folder,
      refusedPorts,
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      onShard: (shard) => started.push(shard),
    });
    expect([exitCode, started]).toEqual([1, []]);
    expect(err.join()).toContain(`127.0.0.1:${admin} (admin_port)`);
    expect(err.join()).toContain(`127.0.0.1:${voice} (voice_port)`);
  });

  test('an address of another machine is reported as such', async () => {
    const { exitCode, err } = await run(
      ['start', '--host', '203.0.113.9', '--admin-port', '0', '--set', 'voice=false'],
      {
        cwd: folder,
        refusedPorts,
        env: {
          ...{ GUILDHALL_TOKEN_SECRET: 'x'.repeat(32), GUILDHALL_ADMIN_TOKEN: 'x'.repeat(32) },
          GUILDHALL_DATA_DIR: folder,
        },
      },
    );
    expect(exitCode).toBe(1);
    expect(err.join()).toContain('203.0.113.9:3000 (listen_port): the address is not one of this machine.');
    expect(err.join()).not.toContain('report it');
  });

  test('are replaced by free ports unless they were set explicitly', async () => {
    const [main, admin] = [await takenTcp(), await takenTcp()];
    const [media, voice] = [await takenUdp(), await takenTcp()];
    const given = {
      ...LOCAL,
      listen_port: main,
      admin_port: admin,
      voice_port: voice,
      voice_udp_port: media,
    };
    const { config, moved } = await withFreePorts(
      { refusedPorts },
      given,
      new Set(['admin_port']),
      (each) => [each],
    );
    expect(moved.map(({ key, from }) => [key, from])).toEqual([
      ['listen_port', main],
      ['voice_port', voice],
      ['voice_udp_port', media],
    ]);
    const still = await refusedPorts(wantedPorts(config, [config]));
    expect(still.map(({ key, port }) => [key, port])).toEqual([['admin_port', admin]]);
  });

  test('shift the ports of all shards of `dev` when the port of one shard is taken', async () => {
    const voice = await takenTcp();
    const given = { ...LOCAL, database_url: 'postgres://nobody@127.0.0.1:1/none', voice_port: voice - 2 };
    const shardsOf = (each: Config) => shardConfigs(each, 3, 0);
    const { config, moved } = await withFreePorts({ refusedPorts }, given, new Set(), shardsOf);
    expect(moved.map(({ key }) => key)).toEqual(['voice_port']);
    expect(await refusedPorts(wantedPorts(config, shardsOf(config)))).toEqual([]);
  });

  test('are listed in the banner of `dev`, and on standard error beside its JSON line', async () => {
    const main = 4001;
    // Beside the first port, as `--port` puts it; this one was not configured.
    const argv = ['dev', '--port', String(main - 1)];
    const taken: World['refusedPorts'] = async (wanted) =>
      wanted.filter(({ port }) => port === main).map((each) => ({ ...each, code: 'EADDRINUSE' }));
    const banner = await run(argv, { refusedPorts: taken });
    expect([banner.exitCode, banner.err]).toEqual([0, []]);
    expect(banner.out.join('\n')).toMatch(
      new RegExp(`so this server has others: .*admin_port \\S.* instead of ${main}`),
    );
    const json = await run([...argv, '--json'], { refusedPorts: taken });
    expect(json.out).toHaveLength(1);
    expect(json.err.join()).toContain(`instead of ${main}`);
  });
});
