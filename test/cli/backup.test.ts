// Goal: backup works while the server runs and while it does not, and what it wrote can be restored and started.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../main.ts';
import { openPglite } from '../../storage/database/pglite.ts';
import { run } from './arrange.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'guildhall-backup-'));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

const usersIn = async (data: string): Promise<readonly string[]> => {
  const driver = await openPglite(join(cwd, data, 'database'));
  try {
    const rows = await driver.query<{ name: string }>(
      "SELECT data->>'username' AS name FROM users ORDER BY 1",
    );
    return rows.map(({ name }) => name);
  } finally {
    await driver.close();
  }
};

describe('backup and restore', () => {
  test('a backup of a running server restores to a server with the same users', async () => {
    const flags = [
      '--set',
      'listen_port=0',
      '--set',
      'admin_port=0',
      '--set',
      'voice=false',
      '--set',
      'log_level=silent',
    ];
    let backup: Awaited<ReturnType<typeof run>> | undefined;
    await run(['start', '--json', '--data', 'data', ...flags], {
      cwd,
      createEngine,
      whileRunning: async ([line]) => {
        const { admin } = JSON.parse(line!);
        const url = ['--admin-url', admin.url];
        const made = await run(['user', 'create', 'juniper', ...url], { cwd });
        expect(made.exitCode).toBe(0);
        backup = await run(['backup', 'saved', '--data', 'data', '--json', ...url], { cwd });
      },
    });
    expect(backup!.err).toEqual([]);
    expect(JSON.parse(backup!.out[0]!)).toMatchObject({ format: 1, blobs: { count: 0, bytes: 0 } });
    // The copy that the server made is gone.
    expect((await readdir(join(cwd, 'data'))).filter((name) => name.includes('copy'))).toEqual([]);

    const checked = await run(['restore', 'saved', '--check'], { cwd });
    expect([checked.exitCode, checked.err]).toEqual([0, []]);
    expect(checked.out[0]).toContain('can be restored');
    const restored = await run(['restore', 'saved', '--data', 'other'], { cwd });
    expect([restored.exitCode, restored.err]).toEqual([0, []]);
    expect(await usersIn('other')).toEqual(await usersIn('data'));
    expect(await usersIn('other')).toContain('juniper');
  }, 240_000);

  test('a backup of a stopped server needs no admin token', async () => {
    const { exitCode, out } = await run(['backup', 'stopped', '--data', 'other', '--no-files'], { cwd });
    expect(exitCode).toBe(0);
    expect(out.join('\n')).toContain('without files');
  }, 240_000);

  test.each([
    [['backup', 'saved', '--data', 'other'], 'Name a folder that does not exist yet.'],
    [['backup', 'x', '--data', 'nowhere'], 'There is no database in'],
    [['restore', 'nowhere', '--data', 'fresh'], 'is no backup'],
    [['restore', 'saved', '--data', 'other'], 'The database is not empty'],
  ])(
    '%j is refused: %s',
    async (argv, message) => {
      const { exitCode, err } = await run(argv, { cwd });
      expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining(message)]);
    },
    240_000,
  );
});
