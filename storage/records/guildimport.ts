import { createHash } from 'node:crypto';
import { isSnowflake, snowflakeMs } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import { nameProblem } from '../../protocol/names.ts';
import { isReservedUsername, usernameKeys } from '../../protocol/usernames.ts';
import { isBlobKey } from '../blob/blobkey.ts';
import type { Blobs } from '../blob/blobs.ts';
import type { Driver, Sql } from '../database/driver.ts';
import { folded } from '../guild/members.ts';
import { ArchiveFault, excerpt, FILE_BYTES_MAX, objectOf } from './archivelines.ts';
import { FORMAT, type GuildSums, schemaOf } from './guildarchive.ts';
import { PERSON } from './guildrows.ts';
import { checkFree, checkImported } from './importchecks.ts';
import { FILE_OWNERS, fileOwner, GUILD_TABLES, ownerColumn, publicUser } from './ownership.ts';
import { faultIn, type RowFault } from './rowcheck.ts';
import { faultInRow } from './rowcolumns.ts';
import { faultOf, RowInserter } from './rowinserter.ts';

const USERNAME_CHARACTERS_MAX = 32;
/** Numbers that are tried for a taken name, before the person's id is added to it. */
const NAME_NUMBERS_MAX = 20;
/** How far ids of the other server may be ahead of this clock; new ids here continue above them. */
const AHEAD_MS_MAX = 24 * 60 * 60_000;
const IMAGE_TYPE = /^(?:image\/(?:png|jpeg|gif|webp|avif|apng)|audio\/(?:mpeg|ogg|wav)|application\/json)$/;
const ATTACHMENT_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(?:; ?charset=[\w-]{1,32})?$/;
/** Columns that a row's data repeats. */
const REPEATED = [
  ...['id', 'guild_id', 'channel_id', 'user_id', 'parent_id', 'target_id'],
  ...['code', 'type', 'action_type', 'due_ms'],
];

interface ImportStores {
  readonly driver: Driver;
  /** Null to leave files out. */
  readonly blobs: Blobs | null;
}

/** The imported rows, and the people who were renamed because their username was taken. */
export interface GuildImported extends GuildSums {
  readonly id: string;
  readonly name: string;
  readonly renamed: readonly string[];
}

/**
 * Reads a guild into a database, in one transaction. The file may be written by anybody: every row must belong to the one
 * guild, no row and no file that exists is changed, and people who exist are left as they are.
 *
 * @throws ArchiveFault for a damaged file, another schema, and a guild that exists; nothing is changed then.
 */
export async function importGuild(
  lines: AsyncIterable<string>,
  { driver, blobs }: ImportStores,
  nowMs = Date.now(),
): Promise<GuildImported> {
  const written: string[] = [];
  try {
    return await driver.transaction(async (sql) => {
      const reading = new GuildReader(sql, new FileWriter(blobs, written), nowMs);
      for await (const line of lines) await reading.add(line);
      return reading.end();
    });
  } catch (error) {
    const fault = faultOf(error);
    // After another error, as of a lost connection, the rows of these files may have been committed.
    if (fault && blobs) for (const key of written) await blobs.delete(key);
    throw fault ?? error;
  }
}

/** Writes the files of an import, and notes which it wrote. */
class FileWriter {
  /** Ids of the guild and of new people, whose files are written. */
  readonly owners = new Set<string>();
  /** People who exist here; their files are skipped. */
  readonly known = new Set<string>();
  readonly #blobs: Blobs | null;
  readonly #written: string[];

  constructor(blobs: Blobs | null, written: string[]) {
    this.#blobs = blobs;
    this.#written = written;
  }

  /** Writes a file of the guild or of a new person. A file that exists is left as it is. */
  async write({ key, type, data }: Record<string, unknown>): Promise<void> {
    if (typeof key !== 'string' || !isBlobKey(key)) throw new ArchiveFault('A file has a malformed key.');
    const owner = fileOwner(key);
    if (!this.owners.has(owner) && !this.known.has(owner))
      throw new ArchiveFault(`The file ${key} does not belong to the guild.`);
    const types = key.startsWith('attachments/') ? ATTACHMENT_TYPE : IMAGE_TYPE;
    if (typeof type !== 'string' || !types.test(type))
      throw new ArchiveFault(`The file ${key} has the type ${excerpt(type)}.`);
    const bytes = Buffer.from(String(data), 'base64');
    if (bytes.length > FILE_BYTES_MAX) throw new ArchiveFault(`The file ${key} is too large.`);
    if (this.#blobs === null || this.known.has(owner) || (await this.#blobs.head(key)) !== null) return;
    this.#written.push(key);
    await this.#blobs.put(key, bytes, type);
  }
}

class GuildReader {
  readonly #sql: Sql;
  readonly #files: FileWriter;
  readonly #nowMs: number;
  readonly #sum = createHash('sha256');
  readonly #renamed: string[] = [];
  readonly #rows: RowInserter;
  #id: string | null = null;
  #counts = { rows: 0, people: 0, files: 0 };
  /** The line that is read, from 1, and the table of its row. */
  #at = { line: 0, table: '' };
  #newest = 0n;
  #checked = false;
  #ended: string | null = null;

  constructor(sql: Sql, files: FileWriter, nowMs: number) {
    this.#sql = sql;
    this.#rows = new RowInserter(sql);
    this.#files = files;
    this.#nowMs = nowMs;
  }

  async add(line: string): Promise<void> {
    this.#at = { line: this.#at.line + 1, table: '' };
    if (line === '') return;
    const value = objectOf(line, this.#at.line);
    if (this.#ended !== null) throw new ArchiveFault('The archive continues after its end.');
    if (value.kind === 'end') {
      this.#ended = String(value.sha256);
      return;
    }
    this.#sum.update(`${line}\n`);
    if (value.kind === 'guild') await this.#begin(value);
    else if (this.#id === null) throw new ArchiveFault('The file does not begin with a guild.');
    else if (value.kind === 'file') await this.#file(value);
    else if (this.#checked || !isRecord(value.row))
      throw new ArchiveFault(`Line ${this.#at.line} is misplaced: ${excerpt(line)}`);
    else if (value.kind === 'person') await this.#person(value.row);
    else if (value.kind === 'row') await this.#row(String(value.table), value.row, line.length);
    else throw new ArchiveFault(`Line ${this.#at.line} is of an unknown kind: ${excerpt(line)}`);
  }

  async end(): Promise<GuildImported> {
    const id = this.#id;
    if (id === null || this.#ended === null) throw new ArchiveFault('The file is incomplete.');
    if (this.#sum.digest('hex') !== this.#ended)
      throw new ArchiveFault('The file is damaged: its sum differs.');
    await this.#check(id);
    // Members repeat the names of users for the search; users here may have other names.
    await this.#sql.query(
      `UPDATE members m SET username_search = u.username_search, name_search = u.name_search FROM users u
       WHERE m.guild_id = $1 AND u.id = m.user_id
         AND (m.username_search, m.name_search) IS DISTINCT FROM (u.username_search, u.name_search)`,
      [id],
    );
    // Ids that the server makes continue above the imported ones.
    await this.#sql.query(
      `INSERT INTO id_marks (worker, ms) VALUES (0, $1)
       ON CONFLICT (worker) DO UPDATE SET ms = greatest(id_marks.ms, excluded.ms)`,
      [String(snowflakeMs(String(this.#newest)))],
    );
    const [guild] = await this.#sql.query<{ name: string }>(
      "SELECT data->>'name' AS name FROM guilds WHERE id = $1",
      [id],
    );
    return { id, name: excerpt(guild?.name), ...this.#counts, renamed: this.#renamed };
  }

  async #begin(head: Record<string, unknown>): Promise<void> {
    if (this.#id !== null) throw new ArchiveFault('The file has two guilds.');
    if (head.format !== FORMAT)
      throw new ArchiveFault(`Format ${excerpt(head.format)} is not known; this reads ${FORMAT}.`);
    const schema = await schemaOf(this.#sql);
    if (head.schema !== schema)
      throw new ArchiveFault(
        `The file has schema ${excerpt(head.schema)}, this server ${schema}: upgrade the older one first.`,
      );
    if (!isSnowflake(head.id)) throw new ArchiveFault('The file has a malformed guild id.');
    this.#see(head.id);
    await checkFree(this.#sql, head.id);
    this.#id = head.id;
  }

  /** Flushes the rows, and checks them before the first file. */
  async #check(guildId: string): Promise<void> {
    if (this.#checked) return;
    await this.#rows.flush();
    await checkImported(this.#sql, guildId);
    this.#checked = true;
  }

  /** Adds a person who does not exist; a taken username gets a number. */
  async #person(row: Record<string, unknown>): Promise<void> {
    await this.#rows.flush();
    this.#at.table = 'users';
    this.#counts.people += 1;
    const data = publicUser(row.data);
    const id = String(row.id);
    this.#see(id);
    if (data.id !== id) throw this.#fault('its ids differ.');
    const fault = faultIn(PERSON, data, 'data');
    if (fault) throw this.#malformed(fault);
    const [there] = await this.#sql.query('SELECT 1 AS one FROM users WHERE id = $1', [id]);
    if (there) {
      this.#files.known.add(id);
      return;
    }
    this.#files.owners.add(id);
    const name = typeof data.username === 'string' ? data.username : '';
    const username = data.bot === true ? nameOf(name) : await this.#freeName(id, name);
    if (username !== name) this.#renamed.push(`${excerpt(name)} is ${username} here`);
    const globalName = typeof data.global_name === 'string' ? data.global_name : null;
    await this.#rows.insert('users', this.#at.line, [
      {
        ...{ id, data: { ...data, flags: 0, username, global_name: globalName } },
        ...{ username_search: folded(username), name_search: folded(globalName) },
      },
    ]);
  }

  async #freeName(id: string, name: string): Promise<string> {
    for (let number = 1; number <= NAME_NUMBERS_MAX + 1; number++) {
      const suffix = number === 1 ? '' : `_${number > NAME_NUMBERS_MAX ? id : number}`;
      const username = [...nameOf(name)].slice(0, USERNAME_CHARACTERS_MAX - suffix.length).join('') + suffix;
      const keys = usernameKeys(username);
      if (isReservedUsername(username)) continue;
      const taken = await this.#sql.query(
        'SELECT 1 AS one FROM usernames WHERE key = ANY ($1::text[]) LIMIT 1',
        [keys],
      );
      if (taken.length > 0) continue;
      for (const key of keys)
        await this.#sql.query('INSERT INTO usernames (key, user_id) VALUES ($1, $2)', [key, id]);
      return username;
    }
    throw new ArchiveFault(`No name is free for person ${id}.`);
  }

  async #row(table: string, row: Record<string, unknown>, characters: number): Promise<void> {
    if (!Object.hasOwn(GUILD_TABLES, table)) throw this.#fault(`a guild has no table ${excerpt(table)}.`);
    this.#at.table = table;
    if (String(row[ownerColumn(table)]) !== this.#id) throw this.#fault('it belongs to another guild.');
    this.#counts.rows += 1;
    const columns = await this.#rows.columnsOf(table);
    for (const { name, type } of columns)
      if (type === 'bigint' && /^id$|_id$/.test(name) && row[name] !== null && row[name] !== undefined)
        this.#see(String(row[name]));
    const fault = faultInRow(table, row, columns);
    if (fault) throw this.#malformed(fault);
    const repeated = differing(table, row);
    if (repeated !== null) throw this.#fault(`its columns differ from its data in ${repeated}.`);
    if (FILE_OWNERS.has(table)) this.#files.owners.add(String(row.id));
    await this.#rows.add(table, table === 'channels' ? unlinked(row) : row, characters, this.#at.line);
  }

  async #file(value: Record<string, unknown>): Promise<void> {
    if (this.#id !== null) await this.#check(this.#id);
    this.#counts.files += 1;
    await this.#files.write(value);
  }

  /** Notes an id. @throws ArchiveFault when it is malformed, or newer than this clock allows. */
  #see(id: string): void {
    if (!isSnowflake(id)) throw this.#fault(`the id ${excerpt(id)} is malformed.`);
    if (snowflakeMs(id) > this.#nowMs + AHEAD_MS_MAX)
      throw this.#fault(`the id ${id} is from the future: compare the clocks of both servers.`);
    if (BigInt(id) > this.#newest) this.#newest = BigInt(id);
  }

  #fault(problem: string): ArchiveFault {
    const { line, table } = this.#at;
    return new ArchiveFault(`Line ${line}${table === '' ? '' : `, a row of ${table}`}: ${problem}`);
  }

  #malformed({ at, must }: RowFault): ArchiveFault {
    return this.#fault(`${excerpt(at)} must ${must}.`);
  }
}

/** A name by the rules of names; `user` in place of one that breaks them. */
const nameOf = (name: string): string =>
  usernameKeys(name).length === 0 || nameProblem(name) !== null || [...name].length > USERNAME_CHARACTERS_MAX
    ? 'user'
    : name;

/** The first column whose value differs in the row's data; null when all agree. */
function differing(table: string, row: Record<string, unknown>): string | null {
  const { data } = row;
  if (!isRecord(data)) return null;
  for (const name of REPEATED) {
    const [column, repeated] = [row[name] ?? null, data[name] ?? null];
    if (column !== null && repeated !== null && String(column) !== String(repeated)) return name;
  }
  if (table !== 'messages' || !isRecord(data.author)) return null;
  return String(data.author.id) === String(row.author_id) ? null : 'author';
}

/** Lobbies are not imported, so no channel is linked to one. */
function unlinked(row: Record<string, unknown>): Record<string, unknown> {
  if (!isRecord(row.data)) return row;
  const { linked_lobby: _, ...data } = row.data;
  return { ...row, data };
}
