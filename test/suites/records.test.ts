// Goal: an exported guild is the same in another database, a person's export has no credentials, and a deletion hands over what a person owned.
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openMemoryBlobs } from '../../storage/blob/blobs.memory.ts';
import type { Driver } from '../../storage/database/driver.ts';
import { openMigrated } from '../../storage/open.ts';
import { linesOf, objectOf } from '../../storage/records/archivelines.ts';
import { exportGuild } from '../../storage/records/guildarchive.ts';
import { importGuild } from '../../storage/records/guildimport.ts';
import {
  APPLICATION_TABLES,
  GUILD_TABLES,
  LOBBY_TABLES,
  PERSON_TABLES,
} from '../../storage/records/ownership.ts';
import { deleteApplication, deleteFiles, deletePerson, exportPerson } from '../../storage/records/people.ts';
import { channelData, guildData, memberData, messageData, roleData } from '../support/guildrows.ts';
import { databases } from './databases.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
const kinds = databases();

async function fresh(kind: (typeof kinds)[number], closers = closing): Promise<Driver> {
  const database = await kind.create();
  closers.push(() => database.dispose());
  const driver = await openMigrated(database.options);
  closers.push(() => driver.close());
  return driver;
}

/** Tables whose rows belong to no guild, person, application or lobby, and why. */
const UNOWNED_TABLES: Readonly<Record<string, string>> = {
  account_moves: 'mergers that are under way',
  actor_snapshots: 'of running processes',
  lobby_voice_states: 'of running processes',
  private_calls: 'of running processes',
  voice_channels: 'of running processes',
  voice_states: 'of running processes',
  command_records: 'of running processes',
  told_users: 'of running processes',
  partition_epochs: 'of running processes',
  writer_transactions: 'of running processes',
  id_marks: 'of the server',
  settings: 'of the server',
  schema_migrations: 'of the server',
  purges: 'messages that are being deleted',
  oauth_device_requests: 'minutes old, and of nobody yet',
  interactions: 'minutes old',
  ephemeral_messages: 'minutes old',
  crossposts: 'work that is under way',
  tag_updates: 'work that is under way',
  crosspost_copies: 'ties two guilds',
  teams: 'of several people; go to the heir of their owner',
};

const about = { version: '1.2.3', madeAt: new Date(0) };
const [GUILD, OTHER, ANN, BEN, BOT, APP] = [
  ...['1100000000000000001', '1100000000000000002', '1100000000000000010', '1100000000000000011'],
  ...['1100000000000000012', '1100000000000000020'],
];
const [CHANNEL, MESSAGE] = ['1100000000000000030', '1200000000000000001'];
/** Text that a careless format would break. */
const HARD = 'two\nlines, "id": 1234567890123456789, \\ and ünïcode 🎉';

/** The JSON of the rows. */
const [GUILD_DATA, ROLE_DATA, CHANNEL_DATA, MEMBER_DATA, MESSAGE_DATA] = [
  ...[guildData(GUILD!, ANN!), roleData(GUILD!), channelData(CHANNEL!, GUILD!), memberData],
  messageData(MESSAGE!, CHANNEL!, ANN!, HARD),
].map((data) => JSON.stringify(data));

async function fill(driver: Driver): Promise<void> {
  const run = (text: string, values: readonly unknown[] = []) => driver.query(text, values);
  for (const [id, name, bot] of [
    [ANN, 'ann', false],
    [BEN, 'ben', false],
    [BOT, 'Lantern', true],
  ] as const) {
    await run(
      "INSERT INTO users (id, username_search, data) VALUES ($1::bigint, lower($2::text), jsonb_build_object('id', $1::text, 'username', $2::text, 'bot', $3::boolean))",
      [id, name, bot],
    );
    if (!bot) await run('INSERT INTO usernames (key, user_id) VALUES ($1, $2)', [name, id]);
    await run("INSERT INTO tokens (user_id, id, kind, hash) VALUES ($1, 5, 'user', 'the hash of a token')", [
      id,
    ]);
    await run(
      'INSERT INTO members (guild_id, user_id, roles, data, username_search) VALUES ($1, $2, ARRAY[$1::bigint], $4::jsonb, $3)',
      [GUILD, id, name.toLowerCase(), MEMBER_DATA],
    );
    await run('INSERT INTO user_guilds (user_id, guild_id) VALUES ($1, $2)', [id, GUILD]);
  }
  await run(
    "INSERT INTO accounts (user_id, data) VALUES ($1, jsonb_build_object('loginName', 'ann', 'email', 'ann@example.org', 'passwordHash', 'argon', 'factor', jsonb_build_object('sealed', 'hidden')))",
    [ANN],
  );
  await run('INSERT INTO login_directory (login, user_id) VALUES ($1, $2)', ['ann', ANN]);
  await run(
    "INSERT INTO guilds (id, data) VALUES ($1::bigint, $2::jsonb), ($3::bigint, jsonb_build_object('id', $3::text, 'name', 'Other', 'owner_id', $4::text))",
    [GUILD, GUILD_DATA, OTHER, BEN],
  );
  await run('INSERT INTO roles (guild_id, id, data) VALUES ($1, $1, $2::jsonb)', [GUILD, ROLE_DATA]);
  await run('INSERT INTO channels (guild_id, id, data) VALUES ($1, $2, $3::jsonb)', [
    GUILD,
    CHANNEL,
    CHANNEL_DATA,
  ]);
  await run('INSERT INTO channel_directory (channel_id, guild_id) VALUES ($1, $2)', [CHANNEL, GUILD]);
  await run(
    'INSERT INTO messages (owner_id, channel_id, id, author_id, data) VALUES ($1, $2, $3, $4, $5::jsonb)',
    [GUILD, CHANNEL, MESSAGE, ANN, MESSAGE_DATA],
  );
  await run(
    'INSERT INTO reaction_counts (owner_id, message_id, key, emoji, count) VALUES ($1, $2, \'x\', \'{"id": null, "name": "x"}\', 1)',
    [GUILD, MESSAGE],
  );
  await run("INSERT INTO reactions (owner_id, message_id, key, user_id) VALUES ($1, $2, 'x', $3)", [
    GUILD,
    MESSAGE,
    BEN,
  ]);
  await run(
    "INSERT INTO applications (id, bot_id, data, signing_key, client_secret_hash) VALUES ($1::bigint, $2, jsonb_build_object('id', $1::text, 'name', 'Lantern', 'owner_id', $3::text), 'key', 'hash')",
    [APP, BOT, ANN],
  );
  await run("INSERT INTO app_commands (application_id, id, data) VALUES ($1, 6, '{}')", [APP]);
  await run("INSERT INTO lobbies (id, application_id, linked, data) VALUES (9, $1, false, '{}')", [APP]);
  await run("INSERT INTO messages (owner_id, channel_id, id, author_id, data) VALUES (9, 9, 8, $1, '{}')", [
    BEN,
  ]);
}

async function exported(driver: Driver, blobs = openMemoryBlobs()): Promise<string[]> {
  const lines: string[] = [];
  await exportGuild(GUILD!, { driver, blobs }, async (line) => void lines.push(line.trimEnd()), about);
  return lines;
}

async function* each(lines: readonly string[]) {
  yield* lines;
}

/** The lines with a recomputed checksum, as an attacker writes them. */
function summed(lines: readonly string[]): string[] {
  const body = lines.slice(0, -1);
  const sum = createHash('sha256');
  for (const line of body) sum.update(`${line}\n`);
  return [...body, JSON.stringify({ kind: 'end', sha256: sum.digest('hex') })];
}

/** Lines with another text in the rows of one table. */
const changed = (lines: readonly string[], table: string, from: string, to: string): string[] =>
  lines.map((line) => (line.includes(`"table":"${table}"`) ? line.replace(from, to) : line));
const without = (lines: readonly string[], table: string): string[] =>
  lines.filter((line) => !line.includes(`"table":"${table}"`));
/** Lines with one more before the end. */
const plus = (lines: readonly string[], line: object): string[] => [
  ...lines.slice(0, -1),
  JSON.stringify(line),
  ...lines.slice(-1),
];
const fileOf = (key: string, type = 'text/plain') => ({ kind: 'file', key, type, data: 'ZXZpbA==' });
const AHEAD = String((BigInt(Date.now() + 40 * 86_400_000 - 1_420_070_400_000) << 22n) + 1n);

/** All rows of the guild, without the numbers that the database generates. */
async function rowsOfGuild(driver: Driver) {
  const rows: Record<string, unknown> = {};
  for (const [table, where] of Object.entries(GUILD_TABLES))
    rows[table] = (
      await driver.query<{ row: object }>(
        `SELECT to_jsonb(t) - 'seq' AS row FROM ${table} t WHERE ${where} ORDER BY to_jsonb(t)::text`,
        [GUILD],
      )
    ).map(({ row }) => row);
  return rows;
}

test('every table of the schema is listed with the owner of its rows', async () => {
  const driver = await fresh(kinds[0]!);
  const tables = await driver.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
  );
  const owned = new Set(
    [GUILD_TABLES, PERSON_TABLES, APPLICATION_TABLES, LOBBY_TABLES, UNOWNED_TABLES].flatMap(Object.keys),
  );
  expect(tables.map(({ name }) => name).filter((name) => !owned.has(name))).toEqual([]);
  const known = new Set(tables.map(({ name }) => name));
  expect([...owned].filter((name) => !known.has(name))).toEqual([]);
});

describe('an import', () => {
  let lines: readonly string[];
  beforeAll(async () => {
    const source = await fresh(kinds[0]!);
    await fill(source);
    lines = await exported(source);
  });

  test.each([
    ['a guild that exists already', (lines: string[]) => [...lines], 'is here already', true],
    ['an incomplete file', (lines: string[]) => lines.slice(0, -1), 'incomplete', false],
    [
      'a changed row',
      (lines: string[]) => lines.map((line) => line.replace('two', 'ten')),
      'its sum differs',
      false,
    ],
    [
      'a row of another guild',
      (lines: string[]) => lines.map((line) => line.replace(`"guild_id":"${GUILD}"`, '"guild_id":"1"')),
      'another guild',
      false,
    ],
    [
      'a table that no guild has',
      (lines: string[]) => lines.map((line) => line.replace('"table":"roles"', '"table":"tokens"')),
      'Line 6: a guild has no table tokens',
      false,
    ],
    [
      'another schema',
      (lines: string[]) => lines.map((line) => line.replace(/"schema":\d+/, '"schema":1')),
      'upgrade',
      false,
    ],
  ])('rejects %s, and changes nothing', async (_what, change, why, isThere) => {
    const other = await fresh(kinds[0]!);
    if (isThere) await importGuild(each(lines), { driver: other, blobs: null });
    const damaged = change([...lines]);
    await expect(importGuild(each(damaged), { driver: other, blobs: null })).rejects.toThrow(why);
    if (!isThere) expect(await other.query('SELECT id FROM users')).toEqual([]);
  });
});

describe('a forged file with a valid checksum', () => {
  let lines: readonly string[];
  /** Stays empty, as every import is refused. */
  let empty: Driver;
  const closers: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const source = await fresh(kinds[0]!, closers);
    await fill(source);
    lines = await exported(source);
    empty = await fresh(kinds[0]!, closers);
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  const owner = `"owner_id":"${GUILD}"`;
  const named = (id: string) => `"channel_id":"${id}"`;
  test.each<[string, (lines: readonly string[]) => string[], RegExp]>([
    [
      'messages in another guild',
      (lines) => changed(lines, 'messages', owner, `"guild_id":"${GUILD}","owner_id":"${OTHER}"`),
      /another guild/,
    ],
    [
      'a second guild row',
      (lines) =>
        lines.toSpliced(
          1,
          0,
          JSON.stringify({ kind: 'row', table: 'guilds', row: { id: OTHER, guild_id: GUILD, data: {} } }),
        ),
      /another guild/,
    ],
    ['a second head', (lines) => [lines[0]!, ...lines], /two guilds/],
    ['no guild row', (lines) => without(lines, 'guilds'), /has no guild/],
    ['a channel outside the directory', (lines) => without(lines, 'channel_directory'), /channel directory/],
    [
      'a message in a channel of another guild',
      (lines) => {
        const move = (each: readonly string[]) =>
          changed(each, 'messages', named(CHANNEL!), named('1100000000000000031'));
        return move(move(lines));
      },
      /channel of another guild/,
    ],
    [
      'a channel whose data has another id',
      (lines) => changed(lines, 'channels', `"data":{"id":"${CHANNEL}"`, '"data":{"id":"5"'),
      /^Line \d+, a row of channels: its columns differ from its data in id/,
    ],
    [
      'a person whose data has another id',
      (lines) =>
        lines.map((line) =>
          line.startsWith('{"kind":"person"')
            ? line
                .replace(`"id":"${ANN}","bot"`, '"id":"5","bot"')
                .replace(/"data":\{"id":"\d+"/, '"data":{"id":"5"')
            : line,
        ),
      /^Line \d+, a row of users: its ids differ/,
    ],
    ['an id from the future', (lines) => changed(lines, 'messages', MESSAGE!, AHEAD), /from the future/],
    [
      'a malformed id',
      (lines) => changed(lines, 'messages', `"${MESSAGE}"`, '"-1"'),
      /^Line \d+, a row of messages: the id -1 is malformed/,
    ],
    [
      'one row twice',
      (lines) =>
        lines.flatMap((line) =>
          line.includes('"table":"bans"') || line.includes('"table":"roles"') ? [line, line] : [line],
        ),
      /^Lines \d+ to \d+, rows of roles: refused by the database \(23505\)/,
    ],
    [
      'a value of another type',
      (lines) => changed(lines, 'members', '"roles":[', '"roles":["x",'),
      /^Line \d+, a row of members: roles must be a list of ids/,
    ],
    ['a file of somebody else', (lines) => plus(lines, fileOf('attachments/31/78/b')), /does not belong/],
    ['a file outside the store', (lines) => plus(lines, fileOf(`avatars/../${ANN}`)), /malformed key/],
    [
      'an HTML page as a picture',
      (lines) => plus(lines, fileOf(`avatars/${ANN}/a`, 'text/html')),
      /text\/html/,
    ],
  ])('is rejected with %s, and leaves neither rows nor files', async (_what, forge, why) => {
    const blobs = openMemoryBlobs();
    const good = plus(lines, fileOf(`icons/${GUILD}/a`, 'image/png'));
    const forged = summed(forge(good));
    await expect(importGuild(each(forged), { driver: empty, blobs })).rejects.toThrow(why);
    expect(await empty.query('SELECT id FROM users UNION ALL SELECT id FROM guilds')).toEqual([]);
    expect(await blobs.head(`icons/${GUILD}/a`)).toBeNull();
  });

  test('does not change existing files and people', async () => {
    const other = await fresh(kinds[0]!);
    await other.query(
      "INSERT INTO users (id, username_search, data) VALUES ($1::bigint, 'ann', jsonb_build_object('id', $1::text, 'username', 'ann'))",
      [ANN],
    );
    const blobs = openMemoryBlobs();
    await blobs.put(`attachments/${CHANNEL}/77/a`, Buffer.from('hello'), 'text/plain');
    const forged = plus(
      plus(lines, fileOf(`avatars/${ANN}/a`, 'image/png')),
      fileOf(`attachments/${CHANNEL}/77/a`),
    );
    await importGuild(each(summed(forged)), { driver: other, blobs });
    expect(await blobs.head(`avatars/${ANN}/a`)).toBeNull();
    expect(await blobs.head(`attachments/${CHANNEL}/77/a`)).toMatchObject({ size: 5 });
  });

  test('is rejected with an id of a private channel, or of rows that are still being deleted', async () => {
    const other = await fresh(kinds[0]!);
    await other.query('INSERT INTO purges (owner_id, channel_id) VALUES ($1, 1)', [GUILD]);
    const run = () => importGuild(each(lines), { driver: other, blobs: null });
    await expect(run()).rejects.toThrow('still being deleted');
    await other.query('DELETE FROM purges');
    await other.query('INSERT INTO channel_directory (channel_id) VALUES ($1)', [GUILD]);
    await expect(run()).rejects.toThrow('belongs to something else');
  });

  test('is split into lines across chunks, and its long rows are rejected before they are parsed', async () => {
    const split: string[] = [];
    async function* chunks() {
      for (const chunk of ['{"a":', '"ü"}\n{"b"', ':1}\n\n', '{}']) yield Buffer.from(chunk);
    }
    for await (const line of linesOf(chunks())) split.push(line);
    expect(split).toEqual(['{"a":"ü"}', '{"b":1}', '', '{}']);
    const long = 'x'.repeat(9 << 20);
    expect(() => objectOf(JSON.stringify({ kind: 'row', row: { long } }), 3)).toThrow('Line 3 has more than');
    expect(() => objectOf(JSON.stringify({ kind: 'file', key: { long } }), 1)).toThrow('more than');
    expect(objectOf(JSON.stringify({ kind: 'file', key: 'a', type: 'b', data: long }), 1)).toMatchObject({
      key: 'a',
    });
  });
});

describe.each(kinds)('on $name', (kind) => {
  test.each(kinds)('a guild is the same after its export was imported into $name', async (target) => {
    const source = await fresh(kind);
    await fill(source);
    const blobs = openMemoryBlobs();
    await blobs.put(`attachments/${CHANNEL}/77/a`, Buffer.from('hello'), 'text/plain');
    await blobs.put('attachments/31/78/b', Buffer.from('elsewhere'), 'text/plain');
    const lines = await exported(source, blobs);
    expect(lines.join()).not.toContain('the hash of a token');
    expect(lines.join()).not.toContain('ann@example.org');

    const other = await fresh(target);
    const files = openMemoryBlobs();
    const made = await importGuild(each(lines), { driver: other, blobs: files });
    expect(made).toMatchObject({ id: GUILD, name: 'Harbour', people: 3, files: 1, renamed: [] });
    expect(await rowsOfGuild(other)).toEqual(await rowsOfGuild(source));
    expect(await files.head(`attachments/${CHANNEL}/77/a`)).toEqual({ size: 5, contentType: 'text/plain' });
    // New ids of the server are above the newest imported id.
    const [mark] = await other.query<{ ms: string }>('SELECT ms FROM id_marks WHERE worker = 0');
    expect(Number(mark?.ms)).toBeGreaterThanOrEqual(Number(BigInt(MESSAGE!) >> 22n) + 1_420_070_400_000);
  });

  test('an imported person with a taken name gets a number, and a person already there is kept', async () => {
    const source = await fresh(kind);
    await fill(source);
    const other = await fresh(kind);
    await other.query(
      "INSERT INTO users (id, username_search, data) VALUES (7, 'ann', '{}'), ($1, 'ben', '{\"username\": \"benjamin\"}')",
      [BEN],
    );
    await other.query("INSERT INTO usernames (key, user_id) VALUES ('ann', 7)");
    const made = await importGuild(each(await exported(source)), { driver: other, blobs: null });
    expect(made.renamed).toEqual(['ann is ann_2 here']);
    const people = await other.query<{ name: string }>(
      "SELECT data->>'username' AS name FROM users WHERE id IN ($1, $2) ORDER BY id",
      [ANN, BEN],
    );
    expect(people.map(({ name }) => name)).toEqual(['ann_2', 'benjamin']);
  });

  test('an exported person has their own data, without credentials and without messages of others', async () => {
    const driver = await fresh(kind);
    await fill(driver);
    const blobs = openMemoryBlobs();
    await blobs.put(`attachments/${CHANNEL}/77/a`, Buffer.from('hello'), 'text/plain');
    const lines: string[] = [];
    await exportPerson(ANN!, { driver, blobs }, async (line) => void lines.push(line), about);
    const text = lines.join('');
    for (const mine of ['ann@example.org', 'two\\nlines', '"table":"members"', '"kind":"file"'])
      expect(text).toContain(mine);
    for (const secret of ['argon', 'hidden', 'the hash of a token', 'Lantern"'])
      expect(text).not.toContain(secret);
    await expect(exportPerson('5', { driver, blobs }, async () => {}, about)).rejects.toThrow('no user 5');
  });

  test('a person who owns guilds is deleted only with an heir, who becomes their owner', async () => {
    const driver = await fresh(kind);
    await fill(driver);
    const options = { heirId: null, messages: false, dryRun: false };
    await expect(deletePerson(ANN!, driver, options)).rejects.toThrow('owns 1 guilds, 1 applications');
    const planned = await deletePerson(ANN!, driver, { ...options, heirId: BEN!, dryRun: true });
    expect(planned).toMatchObject({
      name: 'ann',
      guilds: [GUILD],
      applications: [APP],
      deleted: { accounts: 1 },
    });
    expect(await driver.query('SELECT 1 AS one FROM accounts')).toHaveLength(1);
    await deletePerson(ANN!, driver, { ...options, heirId: BEN! });
    const [guild] = await driver.query<{ owner: string }>(
      "SELECT data->>'owner_id' AS owner FROM guilds WHERE id = $1",
      [GUILD],
    );
    expect(guild?.owner).toBe(BEN);
    for (const table of ['accounts', 'login_directory'])
      expect(await driver.query(`SELECT 1 AS one FROM ${table}`)).toEqual([]);
    const [user] = await driver.query<{ data: object }>('SELECT data FROM users WHERE id = $1', [ANN]);
    expect(user?.data).toMatchObject({ id: ANN, username: `deleted_user_${ANN}`, avatar: null });
    expect(await driver.query('SELECT 1 AS one FROM messages WHERE author_id = $1', [ANN])).toHaveLength(1);
    expect(await driver.query('SELECT 1 AS one FROM usernames WHERE user_id = $1', [ANN])).toEqual([]);
    const [message] = await driver.query<{ data: object }>('SELECT data FROM messages WHERE author_id = $1', [
      ANN,
    ]);
    expect(message?.data).toMatchObject({ author: { id: ANN, username: `deleted_user_${ANN}` } });
  });

  test('messages of a deleted person are deleted with their reactions and files', async () => {
    const driver = await fresh(kind);
    await fill(driver);
    const blobs = openMemoryBlobs();
    for (const key of [`attachments/${CHANNEL}/77/a`, `avatars/${ANN}/a`, `avatars/${BEN}/a`])
      await blobs.put(key, Buffer.from('hello'), 'image/png');
    const done = await deletePerson(ANN!, driver, { heirId: BEN!, messages: true, dryRun: false });
    expect(done.deleted).toMatchObject({ messages: 1 });
    for (const table of ['reactions', 'reaction_counts'])
      expect(await driver.query(`SELECT 1 AS one FROM ${table}`)).toEqual([]);
    expect(await deleteFiles(blobs, done.fileOwners)).toBe(2);
    expect(await blobs.head(`avatars/${BEN}/a`)).not.toBeNull();
  });

  test('refuses the deleted person and bots as heirs', async () => {
    const driver = await fresh(kind);
    await fill(driver);
    const options = { messages: false, dryRun: false };
    await expect(deletePerson(ANN!, driver, { ...options, heirId: ANN! })).rejects.toThrow('is deleted');
    await expect(deletePerson(ANN!, driver, { ...options, heirId: BOT! })).rejects.toThrow('is a bot');
  });

  test('an heir must be a member of the guilds, and a bot is deleted only with its application', async () => {
    const driver = await fresh(kind);
    await fill(driver);
    const options = { heirId: ANN!, messages: true, dryRun: false };
    await expect(deletePerson(BEN!, driver, options)).rejects.toThrow(`no member of guild ${OTHER}`);
    await expect(deletePerson(BOT!, driver, options)).rejects.toThrow(`bot of application ${APP}`);
    const { deleted } = await deleteApplication(APP!, driver, options);
    expect(deleted).toMatchObject({ applications: 1, app_commands: 1, lobbies: 1, messages: 1, tokens: 1 });
    expect(await driver.query('SELECT 1 AS one FROM messages')).toHaveLength(1);
  });
});
