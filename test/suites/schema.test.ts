// Goal: the schema grows forwards only, by one server at a time, and every table can be distributed by its owner.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { migrate } from '../../storage/migrate.ts';
import { MIGRATIONS } from '../../storage/migrations/index.ts';
import { openDriver, openStorage } from '../../storage/open.ts';
import { type Database, databases } from './databases.ts';

/** The column by which each table is owned: an aggregate's id, or the very thing a directory is asked for. */
const OWNER: Record<string, string> = {
  guilds: 'id',
  roles: 'guild_id',
  channels: 'guild_id',
  channel_activity: 'owner_id',
  channel_directory: 'channel_id',
  members: 'guild_id',
  user_guilds: 'user_id',
  bans: 'guild_id',
  join_requests: 'guild_id',
  onboarding_answers: 'guild_id',
  former_members: 'guild_id',
  invites: 'guild_id',
  invite_directory: 'code',
  webhooks: 'guild_id',
  webhook_directory: 'id',
  crossposts: 'guild_id',
  crosspost_copies: 'guild_id',
  threads: 'guild_id',
  thread_members: 'guild_id',
  messages: 'owner_id',
  reactions: 'owner_id',
  reaction_counts: 'owner_id',
  poll_votes: 'owner_id',
  poll_counts: 'owner_id',
  poll_deadlines: 'owner_id',
  audit_log: 'guild_id',
  auto_moderation_rules: 'guild_id',
  stage_instances: 'guild_id',
  voice_states: 'guild_id',
  voice_channels: 'guild_id',
  activity_instances: 'owner_id',
  scheduled_events: 'guild_id',
  scheduled_event_users: 'guild_id',
  guild_pages: 'guild_id',
  tag_updates: 'guild_id',
  template_directory: 'code',
  seen_users: 'user_id',
  guild_expressions: 'guild_id',
  application_emojis: 'application_id',
  entitlements: 'application_id',
  orders: 'application_id',
  skus: 'application_id',
  subscriptions: 'application_id',
  teams: 'id',
  team_members: 'team_id',
  expression_directory: 'id',
  users: 'id',
  tokens: 'user_id',
  applications: 'id',
  webhook_events: 'application_id',
  oauth_grants: 'user_id',
  oauth_chains: 'user_id',
  oauth_codes: 'user_id',
  oauth_device_requests: 'id',
  accounts: 'user_id',
  login_directory: 'login',
  sign_ins: 'user_id',
  usernames: 'key',
  username_renames: 'user_id',
  relationships: 'user_id',
  role_connections: 'user_id',
  role_connection_metadata: 'application_id',
  user_settings: 'user_id',
  private_channels: 'channel_id',
  private_channel_members: 'user_id',
  group_channels: 'channel_id',
  private_calls: 'channel_id',
  purges: 'owner_id',
  identities: 'application_id',
  account_moves: 'id',
  server_bans: 'user_id',
  child_applications: 'child_id',
  identity_providers: 'application_id',
  lobbies: 'id',
  lobby_members: 'lobby_id',
  lobby_voice_states: 'lobby_id',
  user_lobbies: 'user_id',
  lobby_secrets: 'application_id',
  linked_lobbies: 'channel_id',
  lobby_listings: 'id',
  partition_epochs: 'partition',
  command_records: 'owner_id',
  told_users: 'owner_id',
  actor_snapshots: 'owner_id',
  id_marks: 'worker',
  writer_transactions: 'writer',
  interactions: 'owner_id',
  ephemeral_messages: 'owner_id',
  app_commands: 'application_id',
  app_command_permissions: 'application_id',
  app_command_creates: 'application_id',
  settings: 'key',
  schema_migrations: 'version',
};

/** Cases that only one of the databases can have. */
type Case = (name: string, body: () => Promise<void>) => void;
const never: Case = () => {};

const newest = MIGRATIONS.at(-1)?.version ?? 0;
const more = [...MIGRATIONS, { version: newest + 1, name: 'later', sql: 'CREATE TABLE later (a int)' }];

describe.each(databases())('schema on $name', (kind) => {
  const onPostgres: Case = kind.name === 'PostgreSQL' ? test : never;
  const onPglite: Case = kind.name === 'PGlite' ? test : never;
  const closing: (() => Promise<void>)[] = [];
  const open = async (database: Database) => {
    const driver = await openDriver(database.options);
    closing.push(() => driver.close());
    return driver;
  };
  const create = async () => {
    const database = await kind.create();
    closing.push(() => database.dispose());
    return database;
  };
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  test("the primary key of every table begins with its owner's id", async () => {
    const driver = await open(await create());
    await migrate(driver);
    const found = await driver.query<{ table: string; column: string | null }>(
      `SELECT t.table_name AS "table", k.column_name AS "column" FROM information_schema.tables t
       LEFT JOIN information_schema.table_constraints c
         ON c.table_name = t.table_name AND c.table_schema = t.table_schema AND c.constraint_type = 'PRIMARY KEY'
       LEFT JOIN information_schema.key_column_usage k
         ON k.constraint_name = c.constraint_name AND k.table_schema = c.table_schema AND k.ordinal_position = 1
       WHERE t.table_schema = 'public'`,
    );
    expect(Object.fromEntries(found.map(({ table, column }) => [table, column]))).toEqual(OWNER);
  });

  test('migrating again changes nothing, and a new migration is added', async () => {
    const driver = await open(await create());
    await migrate(driver);
    await migrate(driver);
    await migrate(driver, more);
    expect(await driver.query('SELECT version FROM schema_migrations ORDER BY version')).toEqual(
      more.map(({ version }) => ({ version })),
    );
    expect(await driver.query('SELECT * FROM later')).toEqual([]);
  });

  test('a schema newer than the program is refused, and both versions are named', async () => {
    const driver = await open(await create());
    await migrate(driver, more);
    const [newer, known] = [newest + 1, newest];
    await expect(migrate(driver)).rejects.toThrow(
      `The database has schema version ${newer}, but this program knows only up to version ${known}.`,
    );
  });

  test('a migration that was edited after its release is refused', async () => {
    const driver = await open(await create());
    await migrate(driver);
    const edited = MIGRATIONS.map((each) => ({ ...each, sql: `${each.sql} ` }));
    await expect(migrate(driver, edited)).rejects.toThrow('Migration 1 (foundation) differs');
  });

  test('an upgrade that fails changes nothing and names the migration', async () => {
    const driver = await open(await create());
    const broken = [...more, { version: newest + 2, name: 'broken', sql: 'CREATE TABLE x (a nonsense)' }];
    await expect(migrate(driver, broken)).rejects.toThrow(`Migration ${newest + 2} (broken) failed:`);
    const tables = await driver.query("SELECT FROM information_schema.tables WHERE table_schema = 'public'");
    expect(tables).toEqual([]);
    await migrate(driver);
  });

  onPostgres('many servers that start at once migrate once, and release the lock', async () => {
    const database = await create();
    const drivers = await Promise.all(Array.from({ length: 4 }, () => open(database)));
    await Promise.all(drivers.map((driver) => migrate(driver, more)));
    expect(await drivers[0]?.query('SELECT version FROM schema_migrations')).toHaveLength(more.length);
    const held = `SELECT * FROM pg_locks WHERE locktype = 'advisory'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    expect(await drivers[0]?.query(held)).toEqual([]);
  });

  onPostgres('an unreachable server is a clear fault', async () => {
    const opening = openDriver({ databaseUrl: 'postgres://guildhall@127.0.0.1:1/none' });
    await expect(opening).rejects.toThrow('The PostgreSQL server does not answer');
  });

  onPglite('a directory keeps its rows, and belongs to one storage at a time', async () => {
    const root = await mkdtemp(join(tmpdir(), 'guildhall-'));
    closing.push(() => rm(root, { recursive: true, force: true }));
    const directory = join(root, 'data', 'db');
    const first = await openStorage({ directory });
    await first.settings.putIfAbsent('key', 'kept');
    await expect(openStorage({ directory })).rejects.toThrow('is in use by this very process');
    await first.close();
    const second = await openStorage({ directory });
    expect(await second.settings.get('key')).toBe('kept');
    expect(await second.unready()).toBeNull();
    await second.close();
    expect(await second.unready()).toContain('The database does not answer');
  });
});
