import type { PageFacts } from '../../engine/guild/facts.ts';
import { remove, rows, type StatementTable, upsert } from '../database/statement.ts';
import { tagChanged } from './tagupdates.ts';

const KEY = { guild_id: 'bigint', page: 'text' };
const WRITE = upsert('guild_pages', { ...KEY, data: 'jsonb' }, 'guild_id, page');
const REMOVE = remove('guild_pages', KEY);

const CODE = { guild_id: 'bigint', code: 'text' };
/** Not an upsert: a code must never move to another guild. */
const TAKE_CODE = `INSERT INTO template_directory (code, guild_id) SELECT r.code, r.guild_id FROM ${rows(CODE)}`;
const DROP_CODE = remove('template_directory', CODE);

export const pageStatements: StatementTable<PageFacts> = {
  pageWritten: (guildId, { page, data }) => [
    data === null
      ? { sql: REMOVE, row: { guild_id: guildId, page } }
      : { sql: WRITE, row: { guild_id: guildId, page, data } },
    ...(page === 'tag' ? [tagChanged(guildId)] : []),
  ],
  templateCodeTaken: (guildId, { code }) => [{ sql: TAKE_CODE, row: { guild_id: guildId, code } }],
  templateCodeDropped: (guildId, { code }) => [{ sql: DROP_CODE, row: { guild_id: guildId, code } }],
};
