// Goal: the commands export, import and delete work on a running and a stopped server, refuse what they must, and leave no half file.
import { createHash } from 'node:crypto';
import { access, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../main.ts';
import { openPglite } from '../../storage/database/pglite.ts';
import { run } from './arrange.ts';

const TIMEOUT_MS = 240_000;
const QUIET = ['listen_port=0', 'admin_port=0', 'voice=false', 'log_level=silent'].flatMap((one) => [
  ...['--set', one],
]);

let cwd: string;
let guildId: string;
let userId: string;
let exported: Awaited<ReturnType<typeof run>>;
let whileOpen: Awaited<ReturnType<typeof run>>;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'guildhall-export-'));
  await run(['start', '--json', '--data', 'data', ...QUIET], {
    cwd,
    createEngine,
    whileRunning: async ([line]) => {
      const url = ['--admin-url', JSON.parse(line!).admin.url, '--json'];
      const answerOf = async (argv: readonly string[]) =>
        JSON.parse((await run([...argv, ...url], { cwd })).out[0]!);
      ({ id: userId } = (await answerOf(['user', 'create', 'juniper'])).user);
      ({ id: guildId } = (await answerOf(['guild', 'create', 'Harbour', '--owner', userId])).guild);
      exported = await run(['export', 'guild', guildId, 'harbour.ndjson', '--data', 'data', ...url], { cwd });
      whileOpen = await run(['import', 'harbour.ndjson', '--data', 'data'], { cwd });
    },
  });
}, TIMEOUT_MS);
afterAll(() => rm(cwd, { recursive: true, force: true }));

const linesOf = async (file: string) =>
  (await readFile(join(cwd, file), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

async function namesIn(data: string, table: 'users' | 'guilds', key: 'username' | 'name') {
  const driver = await openPglite(join(cwd, data, 'database'));
  try {
    const rows = await driver.query<{ name: string }>(`SELECT data->>'${key}' AS name FROM ${table}`);
    return rows.map(({ name }) => name);
  } finally {
    await driver.close();
  }
}

describe('export and import', () => {
  test('writes a guild of a running server to a file that only its owner can read', async () => {
    expect(exported.err).toEqual([]);
    expect(JSON.parse(exported.out[0]!)).toMatchObject({ kind: 'guild', id: guildId, files: 0 });
    expect((await stat(join(cwd, 'harbour.ndjson'))).mode & 0o777).toBe(0o600);
    expect((await linesOf('harbour.ndjson')).length).toBeGreaterThan(3);
  });

  test('refuses to import into the database of a running server', () => {
    expect([whileOpen.exitCode, whileOpen.err.join('\n')]).toEqual([1, expect.stringContaining('open')]);
  });

  test('refuses a damaged file and changes nothing', async () => {
    const text = await readFile(join(cwd, 'harbour.ndjson'), 'utf8');
    await writeFile(join(cwd, 'damaged.ndjson'), text.replace('Harbour', 'Harbous'));
    const { exitCode, err } = await run(['import', 'damaged.ndjson', '--data', 'other'], { cwd });
    expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining('Nothing was changed.')]);
    expect(await namesIn('other', 'guilds', 'name')).toEqual([]);
  });

  test('refuses a file with a malformed row, names its line and table, and changes nothing', async () => {
    const lines = (await readFile(join(cwd, 'harbour.ndjson'), 'utf8')).trimEnd().split('\n');
    const body = lines.slice(0, -1).map((line) => line.replace(/"permissions":"\d+"/, '"permissions":"abc"'));
    const sha256 = createHash('sha256')
      .update(`${body.join('\n')}\n`)
      .digest('hex');
    const end = JSON.stringify({ kind: 'end', sha256 });
    await writeFile(join(cwd, 'malformed.ndjson'), `${[...body, end].join('\n')}\n`);
    const { exitCode, err } = await run(['import', 'malformed.ndjson', '--data', 'other'], { cwd });
    const line = 1 + body.findIndex((each) => each.includes('"permissions":"abc"'));
    expect([exitCode, err]).toEqual([
      1,
      [
        `guildhall: Line ${line}, a row of roles: data.permissions must be a decimal number of at most 64 bits in quotes.\nNothing was changed.`,
      ],
    ]);
    expect(await namesIn('other', 'guilds', 'name')).toEqual([]);
  });

  test('imports the guild with its people into another server, once', async () => {
    const imported = await run(['import', 'harbour.ndjson', '--data', 'other'], { cwd });
    expect([imported.exitCode, imported.err]).toEqual([0, []]);
    expect(imported.out.join('\n')).toContain(`Guild Harbour (${guildId})`);
    expect(await namesIn('other', 'guilds', 'name')).toEqual(['Harbour']);
    expect(await namesIn('other', 'users', 'username')).toContain('juniper');
    expect((await run(['import', 'harbour.ndjson', '--data', 'other'], { cwd })).exitCode).toBe(1);
  }, 120_000);

  test('writes the data of a user without credentials', async () => {
    const { exitCode } = await run(['export', 'user', userId, 'juniper.ndjson', '--data', 'data'], { cwd });
    expect(exitCode).toBe(0);
    const text = await readFile(join(cwd, 'juniper.ndjson'), 'utf8');
    expect(text).toContain('juniper');
    expect(text).not.toMatch(/"hash"|password_hash|\$argon2/);
  });

  test.each([
    ['an id that is no number', ['export', 'guild', 'harbour', 'x.ndjson', '--data', 'data'], 'is not an id'],
    ['an unknown guild', ['export', 'guild', '42', 'x.ndjson', '--data', 'data'], '42'],
    ['an existing file', ['export', 'user', '42', 'harbour.ndjson', '--data', 'data'], 'does not exist yet'],
    ['a missing file', ['import', 'nowhere.ndjson', '--data', 'other'], 'cannot be read'],
  ])(
    'refuses %s and leaves no file',
    async (_, argv, message) => {
      const { exitCode, err } = await run(argv, { cwd });
      expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining(message)]);
      await expect(access(join(cwd, 'x.ndjson'))).rejects.toThrow('ENOENT');
    },
    TIMEOUT_MS,
  );
});

describe('user delete', () => {
  test('deletes nothing without --yes, and refuses owners of guilds without an heir', async () => {
    const { exitCode, err } = await run(['user', 'delete', userId, '--data', 'other'], { cwd });
    expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining('--heir')]);
    expect(await namesIn('other', 'users', 'username')).toContain('juniper');
  }, 120_000);
});
