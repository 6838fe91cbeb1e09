import { randomBytes } from 'node:crypto';
import { snowflakeOf } from '../../protocol/ids.ts';
import { hashOf, makeToken } from '../../services/identity/identity.ts';
import type { Sql } from '../../storage/database/driver.ts';
import { openDriver } from '../../storage/open.ts';

/** The guild's owner, whose rows are the template of added members, with another id and name. */
const PATTERN = `
SELECT m.user_id AS id FROM members m JOIN users u ON u.id = m.user_id
WHERE m.guild_id = $1 AND u.data->>'bot' IS NULL ORDER BY m.user_id LIMIT 1`;

/** The name of the member of that number, as `ADD_USERS` gives it. */
export const nameOf = (number: number): string => `Member ${number}`;

const ADD_USERS = `
INSERT INTO users (id, data, username_search, name_search)
SELECT $2::bigint + n,
  t.data || jsonb_build_object('id', ($2::bigint + n)::text, 'username', 'member.' || n, 'global_name', 'Member ' || n),
  'member.' || n, 'member ' || n
FROM users t, generate_series($3::integer, $4::integer) n WHERE t.id = $1`;

const ADD_MEMBERS = `
INSERT INTO members (guild_id, user_id, roles, data, nick_search, username_search, name_search)
SELECT m.guild_id, u.id, m.roles, m.data, NULL, u.username_search, u.name_search
FROM members m, users u
WHERE m.guild_id = $1 AND m.user_id = $2 AND u.id BETWEEN $3::bigint + $4::integer AND $3::bigint + $5::integer`;

const ADD_GUILDS = `
INSERT INTO user_guilds (user_id, guild_id)
SELECT $1::bigint + n, $2::bigint FROM generate_series($3::integer, $4::integer) n`;

const ADD_TOKENS = `
INSERT INTO tokens (user_id, id, kind, hash)
SELECT id, id, 'user', hash FROM unnest($1::bigint[], $2::text[]) AS t (id, hash)`;

/** The ids date from some seconds before the guild, a time in which a starting server generates none. */
const BEFORE_MS = 10_000;
const MS_SHIFT = 22n;

interface MembersPlan {
  readonly databaseUrl: string;
  readonly guildId: string;
  readonly count: number;
  /** Number of the first of them: a user of a number is the same in all guilds with one owner. By default 1. */
  readonly first?: number;
  /** How many of the members get a token. */
  readonly tokens: number;
  readonly onProgress: (added: number) => void;
}

/** Members per statement, which takes about a second. */
const PORTION = 20_000;

/**
 * Adds members to a guild directly in the database, because creating such a large guild through the API would take too long.
 * No server may run on the database meanwhile: one with the guild in memory would not know the members.
 *
 * @returns tokens of the first ones.
 */
export async function addMembers(plan: MembersPlan): Promise<string[]> {
  const { databaseUrl, guildId, count, first = 1, tokens, onProgress } = plan;
  const driver = await openDriver({ databaseUrl, connectionsMax: 1 });
  try {
    return await driver.transaction(async (sql) => {
      const [pattern] = await sql.query<{ id: string }>(PATTERN, [guildId]);
      if (!pattern) throw new Error('The guild has no member to go by.');
      const before = String(BigInt(pattern.id) - (BigInt(BEFORE_MS) << MS_SHIFT));
      const last = first + count - 1;
      for (let from = first; from <= last; from += PORTION) {
        const to = Math.min(last, from + PORTION - 1);
        await sql.query(ADD_USERS, [pattern.id, before, from, to]);
        await sql.query(ADD_MEMBERS, [guildId, pattern.id, before, from, to]);
        await sql.query(ADD_GUILDS, [before, guildId, from, to]);
        onProgress(to);
      }
      const made = await addTokens(sql, BigInt(before) + BigInt(first - 1), tokens);
      await sql.script('ANALYZE members; ANALYZE users; ANALYZE user_guilds; ANALYZE tokens');
      return made;
    });
  } finally {
    await driver.close();
  }
}

async function addTokens(sql: Sql, before: bigint, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => snowflakeOf(before + BigInt(index + 1)));
  const made = ids.map((id) => makeToken(id, Date.now(), randomBytes).reveal());
  await sql.query(ADD_TOKENS, [ids, made.map(hashOf)]);
  return made;
}
