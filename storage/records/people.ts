import { isRecord } from '../../protocol/json.ts';
import type { ListedBlobs } from '../blob/blobs.ts';
import { type Driver, READ_ONLY, type Sql } from '../database/driver.ts';
import { pollsGone } from '../message/polls.ts';
import { ArchiveFault } from './archivelines.ts';
import { exportFiles, rowsOf } from './guildarchive.ts';
import { APPLICATION_TABLES, LOBBY_TABLES, PERSON_TABLES } from './ownership.ts';

export interface PersonSums {
  readonly rows: number;
  readonly files: number;
}

const CREDENTIAL = /hash|secret|password|factor|recovery|challenge|sealed|token|verifier|digest|key$/i;

/** Removes the fields that are credentials or their hashes, at every depth. */
function withoutCredentials(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCredentials);
  if (!isRecord(value)) return value;
  const left = Object.entries(value).filter(([name]) => !CREDENTIAL.test(name));
  return Object.fromEntries(left.map(([name, each]) => [name, withoutCredentials(each)]));
}

/**
 * Exports the data of a user for that user: JSON lines with the table of each row, then the files of their
 * messages and pictures. @throws ArchiveFault when there is no such person.
 */
export async function exportPerson(
  userId: string,
  { driver, blobs }: { readonly driver: Driver; readonly blobs: ListedBlobs | null },
  write: (line: string) => Promise<void>,
  about: { readonly version: string; readonly madeAt: Date },
): Promise<PersonSums> {
  const add = (line: object): Promise<void> => write(`${JSON.stringify(line)}\n`);
  const ids = new Set([userId]);
  let rows = 0;
  await driver.transaction(async (sql) => {
    await personOf(sql, userId);
    const { version, madeAt } = about;
    await add({ kind: 'person', format: 1, version, made_at: madeAt.toISOString(), id: userId });
    for (const [table, { where, exported = where, credentials }] of Object.entries(PERSON_TABLES))
      for await (const row of rowsOf(sql, table, exported, userId)) {
        if (table === 'messages') for (const id of attachmentIds(row)) ids.add(id);
        rows += 1;
        await add({ kind: 'row', table, row: credentials ? withoutCredentials(row) : row });
      }
  }, READ_ONLY);
  const files = blobs ? await exportFiles(blobs, (key) => isOf(key, ids), add) : 0;
  await add({ kind: 'end', rows, files });
  return { rows, files };
}

/** Whether a part of a file's key is one of these ids: of a user, a lobby, an attachment or an emoji. */
const isOf = (key: string, ids: ReadonlySet<string>): boolean =>
  key.split('/').some((part) => ids.has(part.split('.', 1)[0] ?? ''));

function attachmentIds({ data }: Record<string, unknown>): readonly string[] {
  if (!isRecord(data)) return [];
  const lists = [data.attachments, data.files].filter((list) => Array.isArray(list));
  return lists.flat().flatMap((each) => (isRecord(each) ? [String(each.id)] : []));
}

/** Deletes the files that a deletion left without an owner. @returns how many. */
export async function deleteFiles(blobs: ListedBlobs, owners: readonly string[]): Promise<number> {
  const ids = new Set(owners);
  const keys: string[] = [];
  for await (const key of blobs.list()) if (isOf(key, ids)) keys.push(key);
  for (const key of keys) await blobs.delete(key);
  return keys.length;
}

async function personOf(
  sql: Sql,
  userId: string,
): Promise<{ readonly bot: boolean; readonly username: string }> {
  const [user] = await sql.query<{ bot: boolean | null; username: string }>(
    "SELECT (data->>'bot')::boolean AS bot, data->>'username' AS username FROM users WHERE id = $1",
    [userId],
  );
  if (!user) throw new ArchiveFault(`There is no user ${userId}.`);
  return { bot: user.bot === true, username: user.username };
}

export interface DeletionOptions {
  /** The new owner of the person's guilds, applications and teams; null: a person who owns any cannot be deleted. */
  readonly heirId: string | null;
  /** Whether the person's messages are deleted too. */
  readonly messages: boolean;
  /** Whether rows are only counted. */
  readonly dryRun: boolean;
}

export interface Deletion {
  readonly name: string;
  readonly guilds: readonly string[];
  readonly applications: readonly string[];
  readonly teams: readonly string[];
  /** Deleted rows by table. */
  readonly deleted: Readonly<Record<string, number>>;
  /** Ids whose files nothing refers to any more: `deleteFiles` deletes them after the commit. */
  readonly fileOwners: readonly string[];
}

class DryRun extends Error {
  override readonly name = 'DryRun';
}

/** Runs a deletion; a dry run is rolled back. */
async function running(
  driver: Driver,
  dryRun: boolean,
  run: (sql: Sql) => Promise<Deletion>,
): Promise<Deletion> {
  let done: Deletion | null = null;
  try {
    await driver.transaction(async (sql) => {
      done = await run(sql);
      if (dryRun) throw new DryRun();
    });
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
  }
  if (done === null) throw new TypeError('A deletion has no result.');
  return done;
}

/**
 * Deletes a person from the database of a server that is stopped: credentials, memberships, relationships and settings. What
 * was said to others stays, by "Deleted User". Guilds, applications and teams go to the heir.
 *
 * @throws ArchiveFault when there is no such person, or somebody must be named to get what the person owned.
 */
export const deletePerson = (userId: string, driver: Driver, options: DeletionOptions): Promise<Deletion> =>
  running(driver, options.dryRun, async (sql) => {
    const { bot, username } = await personOf(sql, userId);
    const [application] = await sql.query<{ id: string }>('SELECT id FROM applications WHERE bot_id = $1', [
      userId,
    ]);
    if (bot && application)
      throw new ArchiveFault(`${username} is the bot of application ${application.id}: delete that.`);
    return remove(sql, userId, username, options);
  });

const LOBBIES = 'SELECT id FROM lobbies WHERE application_id = $1';
/** References to an application in tables of other owners. */
const APPLICATION_REFERENCES = [
  "DELETE FROM expression_directory WHERE owner_id = $1 AND kind = 'application emoji'",
  'UPDATE group_channels SET application_id = NULL WHERE application_id = $1',
  `UPDATE channels SET data = data - 'linked_lobby'
   WHERE id IN (SELECT channel_id FROM linked_lobbies WHERE lobby_id IN (${LOBBIES}))`,
  `WITH gone AS (DELETE FROM webhooks WHERE data->>'application_id' = $1::bigint::text RETURNING id)
   DELETE FROM webhook_directory d USING gone WHERE d.id = gone.id`,
];

/** Deletes an application with its bot, commands, lobbies, grants and players' identities. Orders are kept. */
export const deleteApplication = (id: string, driver: Driver, options: DeletionOptions): Promise<Deletion> =>
  running(driver, options.dryRun, async (sql) => {
    const [application] = await sql.query<{ name: string; bot_id: string | null }>(
      "SELECT data->>'name' AS name, bot_id FROM applications WHERE id = $1",
      [id],
    );
    if (!application) throw new ArchiveFault(`There is no application ${id}.`);
    const { name, bot_id: botId } = application;
    const emojis = await idsOf(sql, 'SELECT id FROM application_emojis WHERE application_id = $1', id);
    const lobbies = await idsOf(sql, LOBBIES, id);
    for (const text of APPLICATION_REFERENCES) await sql.query(text, [id]);
    const messages = await deleteMessages(sql, `owner_id IN (${LOBBIES})`, id);
    const tables = [...Object.entries(LOBBY_TABLES), ...Object.entries(APPLICATION_TABLES)];
    const deleted = sumOf(messages.deleted, await deleteRows(sql, id, tables));
    const fileOwners = [id, ...emojis, ...lobbies, ...messages.fileOwners];
    if (botId === null) return { name, guilds: [], applications: [], teams: [], deleted, fileOwners };
    const ofBot = await remove(sql, botId, name, options);
    return {
      ...ofBot,
      deleted: sumOf(deleted, ofBot.deleted),
      fileOwners: [...fileOwners, ...ofBot.fileOwners],
    };
  });

function sumOf(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>) {
  const sum: Record<string, number> = { ...one };
  for (const [table, count] of Object.entries(other)) sum[table] = (sum[table] ?? 0) + count;
  return sum;
}

type Gone = Pick<Deletion, 'deleted' | 'fileOwners'>;

/** Deletes messages with their reactions and polls. */
async function deleteMessages(sql: Sql, where: string, id: string): Promise<Gone> {
  const [gone] = await sql.query<{ count: string; files: string[][] | null }>(
    `WITH gone AS (DELETE FROM messages WHERE ${where} RETURNING owner_id, id, jsonb_path_query_array(
         jsonb_build_array(data->'files', data->'attachments'), 'lax $[*][*].id') AS files),
       counts_gone AS (DELETE FROM reaction_counts t USING gone g WHERE t.owner_id = g.owner_id AND t.message_id = g.id),
       reactions_gone AS (DELETE FROM reactions t USING gone g WHERE t.owner_id = g.owner_id AND t.message_id = g.id),
       ${pollsGone('gone')}
     SELECT count(*) AS count, jsonb_agg(files) FILTER (WHERE jsonb_array_length(files) > 0) AS files FROM gone`,
    [id],
  );
  const messages = Number(gone?.count ?? 0);
  return {
    deleted: messages === 0 ? {} : { messages },
    fileOwners: [...new Set((gone?.files ?? []).flat().map(String))],
  };
}

async function remove(
  sql: Sql,
  userId: string,
  name: string,
  { heirId, messages }: DeletionOptions,
): Promise<Deletion> {
  const guilds = await idsOf(sql, "SELECT id FROM guilds WHERE data->>'owner_id' = $1", userId);
  const applications = await idsOf(sql, "SELECT id FROM applications WHERE data->>'owner_id' = $1", userId);
  const teams = await idsOf(sql, 'SELECT id FROM teams WHERE owner_id = $1', userId);
  if (guilds.length + applications.length + teams.length > 0) {
    if (heirId === null)
      throw new ArchiveFault(
        `${name} owns ${guilds.length} guilds, ${applications.length} applications and ${teams.length} teams: ${[...guilds, ...applications, ...teams].slice(0, 5).join(', ')}.`,
      );
    await bequeath(sql, userId, heirId, guilds);
  }
  for (const text of LOBBY_REFERENCES) await sql.query(text, [userId]);
  const tables = Object.entries(PERSON_TABLES)
    .filter(([, { left }]) => left === 'deleted')
    .map(([table, { where }]) => [table, where] as const);
  const rows = await deleteRows(sql, userId, tables);
  const said = messages
    ? await deleteMessages(sql, 'author_id = $1', userId)
    : { deleted: {}, fileOwners: [] };
  await anonymize(sql, userId);
  const fileOwners = [userId, ...said.fileOwners];
  return { name, guilds, applications, teams, deleted: sumOf(rows, said.deleted), fileOwners };
}

/** References to a member in rows of lobbies; runs before the memberships are deleted. */
const LOBBY_REFERENCES = [
  `UPDATE lobby_listings SET members = greatest(members - 1, 0)
   WHERE id IN (SELECT lobby_id FROM lobby_members WHERE user_id = $1)`,
  `UPDATE lobbies SET data = jsonb_set(data, '{host_id}', 'null') WHERE data->>'host_id' = $1::bigint::text`,
];

/** Removes the person's names and picture from the user, and from messages that repeat them. */
async function anonymize(sql: Sql, userId: string): Promise<void> {
  const username = `deleted_user_${userId}`;
  await sql.query(
    `UPDATE users SET username_search = $2, name_search = NULL, data = jsonb_build_object(
       'id', data->'id', 'username', $2::text, 'global_name', NULL, 'discriminator', '0', 'avatar', NULL,
       'bot', coalesce(data->'bot', 'false'::jsonb)) WHERE id = $1`,
    [userId, username],
  );
  const [user] = await sql.query<{ data: object }>('SELECT data FROM users WHERE id = $1', [userId]);
  const data = JSON.stringify(user?.data);
  await sql.query(
    `UPDATE messages SET data = jsonb_set(data - 'lobby_member', '{author}', $2::jsonb)
     WHERE author_id = $1 AND data ? 'author'`,
    [userId, data],
  );
  await sql.query(
    `UPDATE messages SET data = jsonb_set(data, '{mentions}', (
       SELECT jsonb_agg(CASE WHEN each->>'id' = $1::bigint::text THEN $2::jsonb ELSE each END ORDER BY n)
       FROM jsonb_array_elements(data->'mentions') WITH ORDINALITY AS mentioned (each, n)))
     WHERE data->'mentions' @> jsonb_build_array(jsonb_build_object('id', $1::bigint::text))`,
    [userId, data],
  );
}

/** Transfers guilds, applications and teams to an heir, who must be a member of the guilds. */
async function bequeath(sql: Sql, userId: string, heirId: string, guilds: readonly string[]): Promise<void> {
  if (heirId === userId) throw new ArchiveFault(`User ${heirId} is deleted, and cannot own anything.`);
  if ((await personOf(sql, heirId)).bot)
    throw new ArchiveFault(`User ${heirId} is a bot, and cannot own guilds and applications.`);
  const members = await idsOf(sql, 'SELECT guild_id AS id FROM members WHERE user_id = $1', heirId);
  const without = guilds.find((id) => !members.includes(id));
  if (without !== undefined)
    throw new ArchiveFault(`User ${heirId} is no member of guild ${without}, and cannot own it.`);
  for (const table of ['guilds', 'applications'])
    await sql.query(
      `UPDATE ${table} SET data = jsonb_set(data, '{owner_id}', to_jsonb($2::text)) WHERE data->>'owner_id' = $1`,
      [userId, heirId],
    );
  await sql.query(
    'DELETE FROM team_members m USING teams t WHERE m.team_id = t.id AND t.owner_id = $1 AND m.user_id = $2',
    [userId, heirId],
  );
  await sql.query('UPDATE teams SET owner_id = $2 WHERE owner_id = $1', [userId, heirId]);
}

const idsOf = async (sql: Sql, text: string, id: string): Promise<readonly string[]> =>
  (await sql.query<{ id: string }>(text, [id])).map((row) => String(row.id));

async function deleteRows(
  sql: Sql,
  id: string,
  tables: readonly (readonly [table: string, where: string])[],
): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {};
  for (const [table, where] of tables) {
    const [gone] = await sql.query<{ count: string }>(
      `WITH gone AS (DELETE FROM ${table} WHERE ${where} RETURNING 1) SELECT count(*) AS count FROM gone`,
      [id],
    );
    const count = Number(gone?.count ?? 0);
    if (count > 0) deleted[table] = (deleted[table] ?? 0) + count;
  }
  return deleted;
}
