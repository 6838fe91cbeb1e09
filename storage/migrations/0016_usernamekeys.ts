import { usernameKeys } from '../../protocol/usernames.ts';
import type { Sql } from '../database/driver.ts';
import { folded } from '../guild/members.ts';

/** Recomputes the keys of usernames: this version's rule detects more look-alikes than version 15 did. */
export const usernameKeysAgain = `
DELETE FROM usernames;
`;

/** Users read at a time. */
const PAGE = 1000;
const CHARACTERS_MAX = 32;

/** Users in the order in which they keep a name: those with sign-in first, then the oldest. */
const PEOPLE = `
SELECT u.id, u.data->>'username' AS username FROM users u
WHERE u.data->>'bot' IS DISTINCT FROM 'true' AND u.id > $1
  AND $2 = EXISTS (SELECT 1 FROM accounts a WHERE a.user_id = u.id)
ORDER BY u.id LIMIT ${PAGE}`;
const TAKEN = 'SELECT key FROM usernames WHERE key = ANY ($1::text[])';
const TAKE = `
INSERT INTO usernames (key, user_id) SELECT key, id FROM unnest($1::text[], $2::bigint[]) AS t (key, id)`;
const RENAME = `
UPDATE users SET data = jsonb_set(data, '{username}', to_jsonb($2::text)), username_search = $3 WHERE id = $1`;
const RENAME_MEMBER = 'UPDATE members SET username_search = $2 WHERE user_id = $1';
/** A user who is renamed again keeps the first name in the report. */
const REPORT = `
INSERT INTO username_renames (user_id, earlier, username) VALUES ($1, $2, $3)
ON CONFLICT (user_id) DO UPDATE SET username = EXCLUDED.username`;

interface Person {
  readonly id: string;
  readonly username: string;
}

/**
 * Gives every user a unique name: a duplicate gets the lowest free number as a suffix. Users keep their login; only the
 * displayed name changes. The result is deterministic.
 *
 * @returns a line for each renamed user.
 */
export async function nameEverybody(sql: Sql): Promise<readonly string[]> {
  const doubles: Person[] = [];
  for (const signsIn of [true, false])
    for (let after = '0'; ; ) {
      const people = await sql.query<Person>(PEOPLE, [after, signsIn]);
      doubles.push(...(await takeAll(sql, people)));
      if (people.length < PAGE) break;
      after = people.at(-1)!.id;
    }
  const lines: string[] = [];
  /** The next number to try, by name. */
  const numbers = new Map<string, number>();
  for (const person of doubles) {
    const { id, username } = person;
    for (let number = numbers.get(username) ?? 2; ; number++) {
      const name = numbered(username, number);
      if ((await takeAll(sql, [{ id, username: name }])).length > 0) continue;
      numbers.set(username, number + 1);
      await sql.query(RENAME, [id, name, folded(name)]);
      await sql.query(RENAME_MEMBER, [id, folded(name)]);
      await sql.query(REPORT, [id, username, name]);
      lines.push(
        `User ${id} was renamed to ${JSON.stringify(name)}: another user has the name ${JSON.stringify(username)}.`,
      );
      break;
    }
  }
  return lines;
}

/** Assigns names in order. @returns the users whose name is taken. */
async function takeAll(sql: Sql, people: readonly Person[]): Promise<readonly Person[]> {
  const wanted = people.map((person) => ({ person, keys: usernameKeys(person.username) }));
  const found = await sql.query<{ key: string }>(TAKEN, [wanted.flatMap(({ keys }) => keys)]);
  const taken = new Set(found.map(({ key }) => key));
  const given: [key: string, id: string][] = [];
  const doubles: Person[] = [];
  for (const { person, keys } of wanted) {
    if (keys.length === 0 || keys.some((key) => taken.has(key))) doubles.push(person);
    else
      for (const key of keys) {
        taken.add(key);
        given.push([key, person.id]);
      }
  }
  await sql.query(TAKE, [given.map(([key]) => key), given.map(([, id]) => id)]);
  return doubles;
}

function numbered(username: string, number: number): string {
  const suffix = `_${number}`;
  const stem = usernameKeys(username).length === 0 ? 'user' : username;
  return [...stem].slice(0, CHARACTERS_MAX - suffix.length).join('') + suffix;
}
