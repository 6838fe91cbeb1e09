// Goal: what an operator can get wrong is answered with a sentence and what to do, exit code 1, and nothing to report to us.
import { cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keptAdminToken, readAdminToken } from '../../cli/admintoken.ts';
import { environmentFailure, startFailure } from '../../cli/failures.ts';
import { createEngine } from '../../main.ts';
import { lockDirectory } from '../../storage/database/directorylock.ts';
import { openStorage } from '../../storage/open.ts';
import { fakeEngine, run } from './arrange.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-mistakes-'));
  const storage = await openStorage({ directory: join(folder, 'sound', 'database') });
  await storage.close();
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const PORTS = ['listen_port', 'admin_port', 'voice_port', 'voice_udp_port', 'voice_webrtc_port'];
const START = ['start', '--log-level', 'silent', ...PORTS.flatMap((key) => ['--set', `${key}=0`])];

/** A database that does not answer. */
const NONE = 'postgres://127.0.0.1:9/none';

/** The message of a start that fails: a sentence, what to do, and nothing else. */
async function mistake(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { exitCode, out, err } = await run(argv, { cwd: folder, env, createEngine });
  expect([exitCode, out, err.length]).toEqual([1, [], 1]);
  const [told = ''] = err;
  expect(told).toMatch(/^guildhall: \S.*\.\n\S.*\.$/s);
  expect(told).not.toMatch(/report it|^ +at |undefined|\[object/m);
  return told;
}

/** A copy of a sound data directory, for one test to damage. */
async function copied(name: string): Promise<string> {
  await cp(join(folder, 'sound'), join(folder, name), { recursive: true });
  return join(folder, name, 'database');
}

describe('a database', () => {
  test.each(['postgres://me:hidden@127.0.0.1:9/guildhall', 'postgres://me:hidden@localhost:9/guildhall'])(
    'is named with its address and without its password when %s cannot be reached',
    async (url) => {
      const told = await mistake(START, { DATABASE_URL: url });
      expect(told).toContain('The PostgreSQL server does not answer: connect ECONNREFUSED');
      expect(told).toContain(':9');
      expect(told).toContain('database_url (or DATABASE_URL)');
      expect(told).not.toContain('hidden');
    },
  );

  test.each([
    ['28P01', 'Correct the user or the password'],
    ['28000', 'Let that user in'],
    ['3D000', 'createdb'],
    ['57P03', 'Check that PostgreSQL runs'],
  ])('is reported with a remedy when it refuses with %s', (code, advice) => {
    const cause = Object.assign(new Error('no'), { code });
    const fault = Object.assign(new Error('The PostgreSQL server does not answer: no', { cause }), {
      name: 'StorageFault',
    });
    expect(environmentFailure(fault)?.advice).toContain(advice);
  });

  test('is not opened with a lost or damaged file, and the backup is named', async () => {
    await rm(join(await copied('lost'), 'global/pg_control'));
    expect(await mistake([...START, '--data', 'lost'])).toMatch(/pg_control missing.+Restore .+ backup/s);
    await writeFile(join(await copied('nonsense'), 'global/pg_control'), Buffer.alloc(8192, 0xa5));
    expect(await mistake([...START, '--data', 'nonsense'])).toMatch(
      /does not open: global\/pg_control has a wrong checksum.+backup/s,
    );
  }, 60_000);

  test('is not created again when it is missing from a data directory that was used', async () => {
    const argv = [...START, '--data', 'emptied', '--set', 'voice=false'];
    const first = await run(argv, { cwd: folder, createEngine });
    expect([first.exitCode, first.err]).toEqual([0, []]);
    await rm(join(folder, 'emptied/database'), { recursive: true });
    expect(await mistake(argv)).toMatch(/emptied\/database is gone, .+ Restore .+ or, to begin/s);
    // A first start that ended before there was a database has left the token alone.
    for (const name of await readdir(join(folder, 'emptied')))
      if (name !== 'admin-token') await rm(join(folder, 'emptied', name), { recursive: true });
    expect((await run(argv, { cwd: folder, createEngine })).exitCode).toBe(0);
  }, 60_000);

  test('is not opened while another server has it open', async () => {
    const unlock = await lockDirectory(join(folder, 'sound', 'database'));
    expect(await mistake([...START, '--data', 'sound'])).toMatch(
      /is in use by .+Stop it, or choose another/s,
    );
    await unlock();
  });
});

describe('a data directory', () => {
  test('cannot be a file, nor lie below one', async () => {
    await writeFile(join(folder, 'file'), '');
    for (const command of [START, ['dev', ...START.slice(1)]])
      for (const path of ['file', 'file/below'])
        expect(await mistake([...command, '--data', path])).toMatch(/file\S* cannot be used: .+--data/s);
  });

  test('cannot be used when this user may not write it', async (context) => {
    if (process.getuid?.() === 0 && !(await stat('/sys').catch(() => null)))
      context.skip('root may write everywhere here');
    const closed = join(folder, 'closed');
    await mkdir(closed, { mode: 0o500 });
    // Root may write into any directory of a disk, but not into those of the kernel.
    const path = process.getuid?.() === 0 ? '/sys/guildhall' : join(closed, 'data');
    expect(await mistake([...START, '--data', path])).toMatch(/cannot be used: .+Check that directory/s);
  });

  test.skipIf(process.platform !== 'linux')(
    'cannot be used, for data or journal, when the system refuses to make it',
    async () => {
      const files = (path: string) => [
        [...START, '--data', path],
        ['dev', ...START.slice(1), '--data', path],
        [...START, '--data', 'sound journal', '--set', 'journal=on', '--set', `journal_dir=${path}`],
        [...START, '--data', path, '--set', `admin_token=${'x'.repeat(16)}`, '--set', `database_url=${NONE}`],
      ];
      // Here mkdir answers that there is no such directory, although the directory above is there.
      for (const path of ['/proc/nope', '/proc/nope/below'])
        for (const argv of files(path))
          expect(await mistake(argv)).toMatch(
            /^guildhall: \/proc\/nope cannot be used: no directory can be made .+Check that directory/s,
          );
    },
    60_000,
  );

  test('cannot be a link to a missing directory', async () => {
    await symlink(join(folder, 'gone'), join(folder, 'link'));
    for (const path of ['link', 'link/below'])
      expect(await mistake([...START, '--data', path])).toMatch(/link cannot be used: .+not a directory/s);
  });

  test('reports the file of a damaged demo', async () => {
    for (const text of ['{"half', 'null', '{}']) {
      await mkdir(join(folder, 'demo'), { recursive: true });
      await writeFile(join(folder, 'demo/demo.json'), text);
      const argv = ['dev', '--port', '0', '--data', 'demo'];
      const { exitCode, err } = await run(argv, { cwd: folder, engine: fakeEngine });
      expect([exitCode, err.join('')]).toEqual([1, expect.stringMatching(/demo\.json is damaged.+backup/s)]);
      expect(err.join()).not.toContain('report it');
    }
  });
});

describe('settings that name missing files or unusable addresses', () => {
  test.each([
    ['identity_ca_file=nowhere.pem', /nowhere\.pem/],
    ['tls_cert_file=nowhere.pem', /tls_cert_file/],
    ['voice_webrtc_address=203.0.113.9', /203\.0\.113\.9/],
    ['voice_host=localhost.invalid', /localhost\.invalid/],
  ])(
    '%s',
    async (pair, expected) => {
      const set = pair.startsWith('voice_host')
        ? ['token_secret', 'admin_token'].flatMap((key) => [
            '--set',
            `${key}=${'x'.repeat(32)}`,
            '--set',
            'voice_tls=off',
          ])
        : [];
      expect(
        await mistake([...START, ...set, '--data', `settings of ${pair.split('=')[0]}`, '--set', pair]),
      ).toMatch(expected);
    },
    60_000,
  );
});

describe('a failure of a start', () => {
  test('is reported as a mistake of the operator when it was thrown on purpose, and else as a bug', () => {
    expect(startFailure(new Error('The clock is wrong'))).toMatchObject({ message: 'The clock is wrong.' });
    expect(startFailure(new RangeError('Shards share a database.'))).toHaveProperty('advice');
    for (const bug of [
      new TypeError('x is not a function'),
      new RangeError('Maximum call stack size exceeded'),
      'text',
    ])
      expect(startFailure(bug)).toBe(bug);
  });
});

describe('the generated admin token', () => {
  const files = async (directory: string) =>
    (await readdir(directory)).filter((name) => name === 'admin-token');

  test('is readable by this user only, the same at every start, and found by commands in that folder', async () => {
    const cwd = await mkdtemp(join(folder, 'token-'));
    const argv = [
      'start',
      '--log-level',
      'silent',
      ...PORTS.flatMap((key) => ['--set', `${key}=0`]),
      '--json',
    ];
    let listed = 0;
    const first = await run(argv, {
      cwd,
      whileRunning: async ([line]) => {
        const { admin } = JSON.parse(line!);
        expect(admin.token_file).toBe(join(cwd, 'data/admin-token'));
        const { exitCode, out, err } = await run(['user', 'list', '--json', '--admin-url', admin.url], {
          cwd,
        });
        expect([exitCode, err]).toEqual([0, []]);
        listed = JSON.parse(out[0]!).users.length;
        const elsewhere = await run(['user', 'list', '--admin-url', admin.url], { cwd: folder });
        expect([elsewhere.exitCode, elsewhere.err.join()]).toEqual([
          1,
          expect.stringContaining('admin token'),
        ]);
      },
    });
    expect(listed).toBe(1);
    const [token] = first.configs.map(({ admin_token }) => admin_token);
    expect(first.out.join()).not.toContain(token);
    expect((await stat(join(cwd, 'data/admin-token'))).mode & 0o077).toBe(0);
    expect(await readAdminToken(join(cwd, 'data'))).toBe(token);
    expect(await keptAdminToken({ randomBytes: () => new Uint8Array(24) } as never, join(cwd, 'data'))).toBe(
      token,
    );
  });

  test('is not generated if one is set, which commands find in the settings', async () => {
    const cwd = await mkdtemp(join(folder, 'set-'));
    await writeFile(join(cwd, 'guildhall.yaml'), `admin_token: ${'s'.repeat(32)}\n`);
    const ran = await run([...START, '--json'], {
      cwd,
      whileRunning: async ([line]) => {
        const { admin } = JSON.parse(line!);
        expect(admin.token_file).toBeNull();
        expect((await run(['user', 'list', '--admin-url', admin.url], { cwd })).exitCode).toBe(0);
      },
    });
    expect([ran.exitCode, await files(cwd)]).toEqual([0, []]);
  });

  test('is never sent to another machine', async () => {
    const cwd = await mkdtemp(join(folder, 'far-'));
    await keptAdminToken({ randomBytes: () => new Uint8Array(24) } as never, join(cwd, 'data'));
    const { exitCode, err } = await run(['user', 'list', '--admin-url', 'http://admin.invalid:3001'], {
      cwd,
    });
    expect([exitCode, err.join()]).toEqual([1, expect.stringContaining('needs the admin token')]);
  });
});
