import { createHash } from 'node:crypto';
import { isRecord, parseJson } from '../../protocol/json.ts';
import type { ListedBlobs } from '../blob/blobs.ts';
import { type Driver, READ_ONLY, type Sql } from '../database/driver.ts';
import { ArchiveFault, FILE_BYTES_MAX } from './archivelines.ts';
import { FILE_OWNERS, fileOwner, GUILD_PEOPLE, GUILD_TABLES, publicUser } from './ownership.ts';

/**
 * A guild as lines of JSON: a head, people, rows by table, files, and an end with the sums. People come as others see them:
 * no credentials, addresses or settings.
 */
export const FORMAT = 1;
export const ROWS_AT_ONCE = 500;

interface Stores {
  readonly driver: Driver;
  /** Null to leave files out. */
  readonly blobs: ListedBlobs | null;
}

export interface GuildSums {
  readonly rows: number;
  readonly people: number;
  readonly files: number;
}

export const schemaOf = async (sql: Sql): Promise<number> => {
  const [row] = await sql.query<{ version: number }>('SELECT max(version) AS version FROM schema_migrations');
  return row?.version ?? 0;
};

/** The rows of a table that meet a condition, as JSON, a page at a time. Call it within a transaction. */
export async function* rowsOf(
  sql: Sql,
  table: string,
  where: string,
  id: string,
): AsyncGenerator<Record<string, unknown>> {
  // A cursor takes no parameters; an id has only digits.
  if (!/^\d{1,20}$/.test(id)) throw new TypeError('malformed id');
  const condition = where.replaceAll('$1', id);
  await sql.script(
    `DECLARE picked CURSOR FOR SELECT to_jsonb(t)::text AS line FROM ${table} t WHERE ${condition}`,
  );
  for (;;) {
    const page = await sql.query<{ line: string }>(`FETCH ${ROWS_AT_ONCE} FROM picked`);
    if (page.length === 0) break;
    for (const { line } of page) yield rowOf(line);
  }
  await sql.script('CLOSE picked');
}

/** Ids are numbers in a row; they become strings, as a number of JSON would lose their digits. */
function rowOf(line: string): Record<string, unknown> {
  const value = textIds(parseJson(Buffer.from(line)));
  if (!isRecord(value)) throw new TypeError('A row is no object.');
  return value;
}

function textIds(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(textIds);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, textIds(each)]));
}

/** Writes a guild. `write` resolves when there is room for more. @throws ArchiveFault when there is no such guild. */
export async function exportGuild(
  guildId: string,
  { driver, blobs }: Stores,
  write: (line: string) => Promise<void>,
  about: { readonly version: string; readonly madeAt: Date },
): Promise<GuildSums> {
  const sum = createHash('sha256');
  const ids = new Set<string>([guildId]);
  const counts = { rows: 0, people: 0, files: 0 };
  const add = async (line: object): Promise<void> => {
    const text = `${JSON.stringify(line)}\n`;
    sum.update(text);
    await write(text);
  };
  await driver.transaction(async (sql) => {
    const [guild] = await sql.query<{ name: string }>(
      "SELECT data->>'name' AS name FROM guilds WHERE id = $1",
      [guildId],
    );
    if (!guild) throw new ArchiveFault(`There is no guild ${guildId}.`);
    const schema = await schemaOf(sql);
    const { version, madeAt } = about;
    await add({
      ...{ kind: 'guild', format: FORMAT, schema, version, made_at: madeAt.toISOString() },
      ...{ id: guildId, name: guild.name },
    });
    for await (const row of rowsOf(sql, 'users', GUILD_PEOPLE, guildId)) {
      ids.add(String(row.id));
      counts.people += 1;
      await add({ kind: 'person', row: { ...row, data: publicUser(row.data) } });
    }
    for (const [table, where] of Object.entries(GUILD_TABLES))
      for await (const row of rowsOf(sql, table, where, guildId)) {
        if (FILE_OWNERS.has(table)) ids.add(String(row.id));
        counts.rows += 1;
        await add({ kind: 'row', table, row });
      }
  }, READ_ONLY);
  if (blobs) counts.files = await exportFiles(blobs, (key) => ids.has(fileOwner(key)), add);
  const end = { kind: 'end', ...counts, sha256: sum.digest('hex') };
  await write(`${JSON.stringify(end)}\n`);
  return counts;
}

/** Writes the files with these keys. @throws ArchiveFault for one that is too large for an archive. */
export async function exportFiles(
  blobs: ListedBlobs,
  isWanted: (key: string) => boolean,
  add: (line: object) => Promise<void>,
): Promise<number> {
  let files = 0;
  for await (const key of blobs.list()) {
    if (!isWanted(key)) continue;
    const head = await blobs.head(key);
    if (head === null) continue;
    if (head.size > FILE_BYTES_MAX)
      throw new ArchiveFault(`The file ${key} has more than ${FILE_BYTES_MAX} bytes: export without files.`);
    const chunks = await blobs.read(key);
    if (chunks === null) continue;
    const bytes: Uint8Array[] = [];
    for await (const chunk of chunks) bytes.push(chunk);
    await add({ kind: 'file', key, type: head.contentType, data: Buffer.concat(bytes).toString('base64') });
    files += 1;
  }
  return files;
}
