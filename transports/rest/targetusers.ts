import type { Reply } from '../../engine/kernel/aggregate.ts';
import { isUserId, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { Upload } from './operation.ts';

/** The form field of the file, and the first line of the one that is sent back. */
const FIELD = 'target_users_file';
const HEADING = 'user_id';
/** Enough for as many ids in quotes, each on its line. */
const BYTES_MAX = LIMITS.invite_target_users_max * 32;
const NAMED_MAX = 10;

const refused = (code: string, message: string): Reply<never> => ({
  ok: false,
  refusal: invalidField([FIELD], code, message),
});

/**
 * The users of an uploaded list: one column of ids, with or without a heading. Repetitions are ignored; what is no id of
 * a user refuses the whole list and is named by its line. Null without a file.
 *
 * @source https://docs.discord.com/developers/resources/invite#update-target-users
 */
export async function targetUsersOf(
  files: readonly Upload[],
  users: Pick<UserStore, 'get'>,
): Promise<Reply<readonly UserId[] | null>> {
  const file = files.find(({ field }) => field === FIELD);
  if (!file) return { ok: true, value: null };
  if (file.bytes.length > BYTES_MAX) return refused('BINARY_TYPE_MAX_SIZE', 'The file is too large.');
  const listed = linesOf(new TextDecoder().decode(file.bytes));
  if (listed.size === 0) return refused('BASE_TYPE_REQUIRED', 'The file names no users.');
  if (listed.size > LIMITS.invite_target_users_max)
    return refused('BASE_TYPE_MAX_LENGTH', `Must name ${LIMITS.invite_target_users_max} or fewer users.`);
  const ids = [...listed.keys()].filter((cell) => isUserId(cell));
  const known = new Set<string>((await users.get(ids)).map(({ id }) => id));
  const wrong = [...listed].filter(([cell]) => !known.has(cell)).slice(0, NAMED_MAX);
  return wrong.length > 0 ? { ok: false, refusal: wrongLines(wrong) } : { ok: true, value: ids };
}

/** Each different cell, with the number of its first line. */
function linesOf(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const [at, line] of text.split(/\r\n|\r|\n/).entries()) {
    const cell = line.trim().replace(/^"(.*)"$/, '$1');
    if (cell !== '' && cell.toLowerCase() !== HEADING && !lines.has(cell)) lines.set(cell, at + 1);
  }
  return lines;
}

/** The platform lists the lines under the file's field; libraries read the tree, which has them too. */
function wrongLines(wrong: readonly (readonly [cell: string, line: number])[]): Refusal {
  const lines = wrong.map(([cell, line]) =>
    isUserId(cell)
      ? `Line ${line}: no such user`
      : `Line ${line}: invalid user ID - must be a valid snowflake`,
  );
  const _errors = lines.map((message) => ({ code: 'USER_IDS_INVALID', message }));
  return {
    ...refusal('INVALID_FORM_BODY'),
    errors: { [FIELD]: { _errors } },
    lines: { [FIELD]: lines },
  };
}

/** The list as a file. */
export const targetUsersFile = (ids: readonly UserId[]): string => `${[HEADING, ...ids].join('\n')}\n`;
