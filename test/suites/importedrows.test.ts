// Goal: every export of this server is imported, and a file with a malformed row is refused with its table and line.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UserId } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import { openMemoryBlobs } from '../../storage/blob/blobs.memory.ts';
import type { Driver } from '../../storage/database/driver.ts';
import { openMigrated } from '../../storage/open.ts';
import { exportGuild } from '../../storage/records/guildarchive.ts';
import { importGuild } from '../../storage/records/guildimport.ts';
import { GUILD_TABLES } from '../../storage/records/ownership.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { richGuild, serve } from '../support/richguild.ts';

const RUNS = 100;
const TIMEOUT_MS = 240_000;

interface Line {
  readonly kind: string;
  readonly table?: string;
  readonly row?: Record<string, unknown>;
  readonly id?: string;
}

let lines: readonly Line[] = [];
let guildId = '';
let annId = '';
/** The server that imports; it runs, as every import has other ids. */
let driver: Driver;
let target: Awaited<ReturnType<typeof serve>>;

async function exported(from: Driver, id: string): Promise<Line[]> {
  const texts: string[] = [];
  const about = { version: '1.2.3', madeAt: new Date(0) };
  await exportGuild(
    id,
    { driver: from, blobs: openMemoryBlobs() },
    async (line) => void texts.push(line),
    about,
  );
  return texts.map((each) => JSON.parse(each));
}

beforeAll(async () => {
  const from = await openMigrated();
  const source = await serve(from);
  try {
    ({ guildId, annId } = await richGuild(source));
    lines = (await exported(from, guildId)).slice(0, -1);
  } finally {
    await source.engine.close();
  }
  driver = await openMigrated();
  target = await serve(driver);
}, TIMEOUT_MS);
afterAll(() => target?.engine.close());

/** Imports lines with a valid checksum. */
const imported = (texts: readonly string[]) => {
  const sum = createHash('sha256');
  for (const each of texts) sum.update(`${each}\n`);
  async function* all() {
    yield* texts;
    yield JSON.stringify({ kind: 'end', sha256: sum.digest('hex') });
  }
  return importGuild(all(), { driver, blobs: null });
};

let copies = 0;
/** The lines with older ids, so that neither the database nor the memory of the server has them. */
function copied(all: readonly Line[]): { readonly texts: readonly string[]; readonly readerId: string } {
  copies += 1;
  const older = (id: string) => String(BigInt(id) - (BigInt(copies) << 42n));
  const texts = all.map((line) =>
    JSON.stringify(line).replace(/"(\d{17,19})"/g, (_, id: string) => `"${older(id)}"`),
  );
  return { texts, readerId: older(annId) };
}

/** Everything that a member sees of the guild. */
const PAGES = [
  ...['roles', 'members?limit=100', 'threads/active', 'emojis', 'stickers', 'soundboard-sounds', 'preview'],
  ...['scheduled-events?with_user_count=true', 'auto-moderation/rules', 'invites', 'webhooks', 'bans'],
  ...[
    'audit-logs',
    'welcome-screen',
    'onboarding',
    'member-verification',
    'templates',
    'widget.json',
    'widget.png',
  ],
  ...['new-member-welcome', 'profile', 'messages/search?content=map', 'requests?status=SUBMITTED'],
];

/** Reads the guild as a member does. */
async function show(id: string, readerId: string): Promise<void> {
  const { token } = await target.engine.admin.rotateToken(readerId as UserId);
  const read = async (path: string, isNeeded = false) => {
    const { status, text } = await target.ask(`Bearer ${token}`, `GET ${path}`);
    if (status >= 500 || (isNeeded && status !== 200))
      expect.fail(`GET ${path} was answered ${status} ${text}`);
    return text;
  };
  await read('/users/@me/guilds', true);
  await read(`/guilds/${id}`, true);
  const channels: { readonly id: string }[] = JSON.parse(await read(`/guilds/${id}/channels`, true));
  for (const page of PAGES) await read(`/guilds/${id}/${page}`);
  const { threads = [] } = JSON.parse(await read(`/guilds/${id}/threads/active`));
  for (const channel of [...channels, ...threads]) {
    await read(`/channels/${channel.id}/messages?limit=100`);
    await read(`/channels/${channel.id}/messages/pins`);
    await read(`/channels/${channel.id}/threads/archived/private`);
  }
  const client = await GatewayClient.ready(target.gateway, { token });
  const made = client.received.filter(({ t, d }) => t === 'GUILD_CREATE' && d.id === id);
  expect(made).toMatchObject([{ d: { id, channels: expect.any(Array) } }]);
  await client.close();
}

async function remove(id: string): Promise<void> {
  for (const [table, where] of Object.entries(GUILD_TABLES).toReversed())
    await driver.query(`DELETE FROM ${table} WHERE ${where}`, [id]);
}

const rowsIn = (all: readonly Line[]) =>
  all
    .filter(({ kind }) => kind === 'row')
    .map(({ table, row }) => JSON.stringify([table, { ...row, seq: 0 }]))
    .sort();

describe('a guild with rows in most tables', () => {
  test(
    'is the same after an import, and is shown to its members',
    async () => {
      const tables = new Set(lines.map(({ table }) => table));
      expect(Object.keys(GUILD_TABLES).filter((table) => !tables.has(table))).toEqual([]);
      await imported(lines.map((line) => JSON.stringify(line)));
      expect(rowsIn(await exported(driver, guildId))).toEqual(rowsIn(lines));
      await show(guildId, annId);
      await remove(guildId);
    },
    TIMEOUT_MS,
  );
});

/** Values of other types, out of range, or with characters that names and files must not have. */
const DAMAGES: readonly unknown[] = [
  ...[undefined, null, true, -1, 1.5, 9_999, 1e300, [], {}, [null], { id: 5 }, '', 'x'],
  ...['-1', '9'.repeat(29), '../../../etc/passwd', 'a\u001b[31m\u202eb', 'a\0b', '\ud800', '+275760-09-13'],
];

type Path = readonly (string | number)[];
function pathsIn(value: unknown): Path[] {
  const entries = Array.isArray(value) ? [...value.entries()] : isRecord(value) ? Object.entries(value) : [];
  return entries.flatMap(([key, each]) => [[key], ...pathsIn(each).map((path) => [key, ...path])]);
}

/** Whether a path leads to a field of a user. Users who were deleted lack most of them. */
const isOfUser = (value: unknown, [key, ...rest]: Path): boolean => {
  if (rest.length === 0) return isRecord(value) && 'username' in value;
  const inner: unknown = Array.isArray(value)
    ? value[Number(key)]
    : isRecord(value)
      ? value[String(key)]
      : null;
  return isOfUser(inner, rest);
};

function damaged(value: unknown, [key, ...rest]: Path, damage: unknown): unknown {
  if (key === undefined) return damage;
  if (Array.isArray(value)) return value.map((each, at) => (at === key ? damaged(each, rest, damage) : each));
  const fields = isRecord(value) ? value : {};
  return { ...fields, [key]: damaged(fields[key], rest, damage) };
}

function damagedRow({ row }: Line, path: Path, damage: unknown): Record<string, unknown> {
  const changed = damaged(row, path, damage);
  return isRecord(changed) ? changed : {};
}

/** What an import refuses because rows do not fit each other, and not because of one row. */
const TOGETHER = /^(?:The guild cannot be imported|Lines \d+ to \d+, rows of )/;

/** The number of the line with the nth row of a table, of those of all tables in turn. */
function numberOf(table: number, nth: number): number {
  const tables = [...new Set(lines.slice(1).map(tableOf))];
  const wanted = tables[table % tables.length];
  const numbers = [...lines.keys()].filter((at) => at > 0 && tableOf(lines[at]!) === wanted);
  return numbers[nth % numbers.length]!;
}

const tableOf = ({ table = 'users' }: Line): string => table;
const ESCAPES = 'a\u001b[31m\u202eb';
const NAME = 'must be a name without control or text-direction characters';
const BITS = 'must be a decimal number of at most 64 bits in quotes';
const FILE = 'must be a file name without slashes and control characters';

describe('a file with one damaged value', () => {
  test.each<[table: string, path: Path, damage: unknown, must: string]>([
    ['roles', ['data', 'permissions'], 'abc', BITS],
    ['roles', ['data', 'permissions'], '9'.repeat(29), BITS],
    ['roles', ['data', 'permissions'], undefined, 'must not be missing'],
    ['channels', ['data', 'type'], 9_999, 'must be one of 0, 5, 2, 13, 15, 16, 4'],
    ['channels', ['data', 'permission_overwrites'], 'x', 'must be a list'],
    ['channels', ['data', 'permission_overwrites'], [{ id: '1', type: 0, allow: '-1', deny: '0' }], BITS],
    ['channels', ['data', 'name'], null, NAME],
    ['guilds', ['data', 'name'], ESCAPES, NAME],
    ['guilds', ['data', 'icon'], '../../x', 'must be the hash of a picture'],
    ['members', ['data', 'nick'], ESCAPES, NAME],
    ['members', ['roles'], ['x'], 'must be a list of ids in quotes'],
    ['users', ['data', 'username'], ESCAPES, NAME],
    ['messages', ['data', 'content'], null, 'must be text'],
    ['messages', ['data', 'attachments'], [{ filename: '../../../etc/passwd' }], 'must not be missing'],
    ['messages', ['data', 'files'], [{ id: '1', filename: '../../../etc/passwd' }], FILE],
    ['messages', ['data', 'author', 'email'], 'x@y.z', 'must not be in a user'],
    ['messages', ['data', 'author', 'system'], true, 'must be one of false'],
    ['messages', ['data', 'timestamp'], '-1', 'must be a time in ISO 8601'],
    ['threads', ['archive_us'], '9000000000000000000', 'must be a time before the year 10000'],
    ['scheduled_events', ['data', 'recurrence_rule'], 5, 'must be an object'],
    ['guild_pages', ['page'], 'x', 'must be of a known kind'],
    ['audit_log', ['data', 'reason'], 'a\0b', 'must be text'],
  ])('is refused: %s %j %j', async (table, path, damage, must) => {
    const at = lines.findIndex((line) => line.kind !== 'guild' && tableOf(line) === table);
    const { texts } = copied(lines.with(at, { ...lines[at]!, row: damagedRow(lines[at]!, path, damage) }));
    const place = `Line ${at + 1}, a row of ${table}: `;
    await expect(imported(texts)).rejects.toThrow(place);
    await expect(imported(texts)).rejects.toThrow(must);
  });

  test('takes over neither flags nor e-mail addresses of people', async () => {
    const at = lines.findIndex(({ kind, row }) => kind === 'person' && row?.id === annId);
    const { row } = lines[at]!;
    const data = {
      ...(isRecord(row?.data) ? row.data : {}),
      system: true,
      flags: 1,
      email: 'x@y.z',
      verified: true,
    };
    const { texts, readerId } = copied(lines.with(at, { ...lines[at]!, row: { ...row, data } }));
    await remove((await imported(texts)).id);
    const [user] = await driver.query<{ data: object }>('SELECT data FROM users WHERE id = $1', [readerId]);
    expect(user?.data).toMatchObject({ id: readerId, flags: 0 });
    expect(JSON.stringify(user)).not.toMatch(/x@y.z|verified|system/);
  });

  test(
    'is refused with table and line, or its guild is shown to members',
    async () => {
      const pick = fc.record({
        ...{ table: fc.nat(), nth: fc.nat(), path: fc.nat(), damage: fc.constantFrom(...DAMAGES) },
      });
      await fc.assert(
        fc.asyncProperty(pick, async ({ table, nth, path, damage }) => {
          const at = numberOf(table, nth);
          const old = lines[at]!;
          const paths = pathsIn(old.row);
          const chosen = paths[path % paths.length]!;
          fc.pre(damage !== undefined || !isOfUser(old.row, chosen));
          const { texts, readerId } = copied(
            lines.with(at, { ...old, row: damagedRow(old, chosen, damage) }),
          );
          const made = await imported(texts).catch((error: Error) => error);
          if (made instanceof Error) {
            expect(made.name).toBe('ArchiveFault');
            const place = `Line ${at + 1}, a row of ${tableOf(old)}: `;
            if (!TOGETHER.test(made.message)) expect(made.message).toContain(place);
            return;
          }
          await show(made.id, readerId);
          await remove(made.id);
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT_MS,
  );
});
