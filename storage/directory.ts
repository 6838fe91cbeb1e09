import type { GuildId } from '../protocol/ids.ts';
import type { Sql } from './database/driver.ts';
import type { DirectoryStore, Storage } from './ports.ts';

export const directoryStore = (sql: Sql): DirectoryStore => ({
  channelOwner: async (channelId) => {
    const text = 'SELECT guild_id FROM channel_directory WHERE channel_id = $1';
    const [row] = await sql.query<{ guild_id: GuildId | null }>(text, [channelId]);
    if (!row) return null;
    return row.guild_id === null ? { private: true } : { guildId: row.guild_id };
  },
  inviteGuild: async (code) => {
    // A vanity code is stored in lower case. The guild itself decides whether this code is its own.
    const text =
      'SELECT guild_id FROM invite_directory WHERE code IN ($1, $2) ORDER BY code = $1 DESC LIMIT 1';
    const [row] = await sql.query<{ guild_id: GuildId }>(text, [code, code.toLowerCase()]);
    return row?.guild_id ?? null;
  },
  templateGuild: async (code) => {
    const text = 'SELECT guild_id FROM template_directory WHERE code = $1';
    const [row] = await sql.query<{ guild_id: GuildId }>(text, [code]);
    return row?.guild_id ?? null;
  },
  guilds: (after, limit) => {
    const text = "SELECT id, data->>'name' AS name FROM guilds WHERE id > $1 ORDER BY id LIMIT $2";
    return sql.query<{ id: GuildId; name: string }>(text, [after ?? '0', limit]);
  },
});

export const settingStore = (sql: Sql): Storage['settings'] => {
  const get = async (key: string): Promise<string | null> => {
    const [row] = await sql.query<{ value: string }>('SELECT value FROM settings WHERE key = $1', [key]);
    return row?.value ?? null;
  };
  return {
    get,
    putIfAbsent: async (key, value) => {
      await sql.query('INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        key,
        value,
      ]);
      return (await get(key)) ?? value;
    },
  };
};
