import type {
  AppCommand,
  AppCommandFacts,
  CommandPermissions,
  Creates,
} from '../../engine/appcommand/appcommand.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';
import type { AppCommandStore } from './port.ts';

const COMMAND = { application_id: 'bigint', id: 'bigint' };
const WRITE = upsert('app_commands', { ...COMMAND, guild_id: 'bigint', data: 'jsonb' }, 'application_id, id');
const DELETE = remove('app_commands', COMMAND);

const TARGET = { application_id: 'bigint', guild_id: 'bigint', id: 'bigint' };
const KEY = 'application_id, guild_id, id';
const PERMIT = upsert('app_command_permissions', { ...TARGET, data: 'jsonb' }, KEY);
const UNPERMIT = remove('app_command_permissions', TARGET);
const UNPERMIT_EVERYWHERE = remove('app_command_permissions', COMMAND);

const SCOPE = { application_id: 'bigint', guild_id: 'bigint' };
const COUNT = upsert(
  'app_command_creates',
  { ...SCOPE, start_ms: 'bigint', count: 'integer' },
  'application_id, guild_id',
);

export const appCommandStatements: StatementTable<AppCommandFacts> = {
  appCommandWritten: (_, { command }) => {
    const { application_id, id, guild_id } = command;
    return [{ sql: WRITE, row: { application_id, id, guild_id, data: command } }];
  },
  appCommandDeleted: (_, { applicationId, commandId }) => {
    const row = { application_id: applicationId, id: commandId };
    return [
      { sql: DELETE, row },
      { sql: UNPERMIT_EVERYWHERE, row },
    ];
  },
  appCommandCreatesCounted: (_, { applicationId, guildId, creates }) => {
    const scope = { application_id: applicationId, guild_id: guildId ?? '0' };
    return [{ sql: COUNT, row: { ...scope, start_ms: creates.startMs, count: creates.count } }];
  },
  appCommandPermissionsWritten: (_, { permissions }) => {
    const { application_id, guild_id, id } = permissions;
    const row = { application_id, guild_id, id };
    if (permissions.permissions.length === 0) return [{ sql: UNPERMIT, row }];
    return [{ sql: PERMIT, row: { ...row, data: permissions } }];
  },
  appCommandPermissionsEnded: (_, { applicationId, commandId }) => [
    { sql: UNPERMIT_EVERYWHERE, row: { application_id: applicationId, id: commandId } },
  ],
};

export const appCommandStore = (sql: Sql): AppCommandStore => ({
  list: async (applicationId, guildId) => {
    const text = (scope: string) =>
      `SELECT data FROM app_commands WHERE application_id = $1 AND guild_id ${scope} ORDER BY id`;
    const rows =
      guildId === null
        ? await sql.query<{ data: AppCommand }>(text('IS NULL'), [applicationId])
        : await sql.query<{ data: AppCommand }>(text('= $2'), [applicationId, guildId]);
    return rows.map(({ data }) => data);
  },
  get: async (applicationId, commandId) => {
    const text = 'SELECT data FROM app_commands WHERE application_id = $1 AND id = $2';
    return (await sql.query<{ data: AppCommand }>(text, [applicationId, commandId]))[0]?.data ?? null;
  },
  shown: async (applicationIds, guildId) => {
    const text = `SELECT data FROM app_commands
      WHERE application_id = ANY($1) AND (guild_id IS NULL OR guild_id = $2) ORDER BY id`;
    const rows = await sql.query<{ data: AppCommand }>(text, [applicationIds, guildId]);
    return rows.map(({ data }) => data);
  },
  permissionsIn: async (applicationIds, guildId) => {
    const text = `SELECT data FROM app_command_permissions
      WHERE application_id = ANY($1) AND guild_id = $2 ORDER BY id`;
    const rows = await sql.query<{ data: CommandPermissions }>(text, [applicationIds, guildId]);
    return rows.map(({ data }) => data);
  },
  creates: async (applicationId, guildId) => {
    const text = `SELECT start_ms::float8 AS "startMs", count FROM app_command_creates
      WHERE application_id = $1 AND guild_id = $2`;
    return (await sql.query<Creates>(text, [applicationId, guildId ?? '0']))[0] ?? null;
  },
  permissions: async (applicationId, guildId) => {
    const text = `SELECT data FROM app_command_permissions
      WHERE application_id = $1 AND guild_id = $2 ORDER BY id`;
    const rows = await sql.query<{ data: CommandPermissions }>(text, [applicationId, guildId]);
    return rows.map(({ data }) => data);
  },
});
