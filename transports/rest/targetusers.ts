import type { Reply } from '../../engine/kernel/outcome.ts';
import { isUserId, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField } from '../../protocol/refusal.ts';
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
 * a user refuses the whole list and is named. Null without a file.
 */
export async function targetUsersOf(
  files: readonly Upload[],
  users: Pick<UserStore, 'get'>,
): Promise<Reply<readonly UserId[] | null>> {
  const file = files.find(({ field }) => field === FIELD);
  if (!file) return { ok: true, value: null };
  if (file.bytes.length > BYTES_MAX) return refused('BINARY_TYPE_MAX_SIZE', 'The file is too large.');
  const lines = new TextDecoder().decode(file.bytes).split(/[\r\n]+/);
  const cells = lines.map((line) => line.trim().replace(/^"(.*)"$/, '$1'));
  const listed = [...new Set(cells)].filter((cell) => cell !== '' && cell.toLowerCase() !== HEADING);
  if (listed.length === 0) return refused('BASE_TYPE_REQUIRED', 'The file names no users.');
  if (listed.length > LIMITS.invite_target_users_max)
    return refused('BASE_TYPE_MAX_LENGTH', `Must name ${LIMITS.invite_target_users_max} or fewer users.`);
  const ids = listed.filter((cell) => isUserId(cell));
  const known = new Set<string>((await users.get(ids)).map(({ id }) => id));
  const wrong = listed.filter((cell) => !known.has(cell)).map((cell) => cell.slice(0, 20));
  if (wrong.length > 0)
    return refused('USER_IDS_INVALID', `Not ids of users: ${wrong.slice(0, NAMED_MAX).join(', ')}`);
  return { ok: true, value: ids };
}

/** The list as a file. */
export const targetUsersFile = (ids: readonly UserId[]): string => `${[HEADING, ...ids].join('\n')}\n`;
