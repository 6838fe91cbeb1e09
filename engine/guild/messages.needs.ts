import type { UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { namedIn } from '../channel/mentions.ts';
import type { Needs } from '../kernel/needs.ts';
import type { Guild } from './guild.ts';

/** Users that a text mentions: as members if they are in the window, else as users. */
export function needsNamed(content: string | null | undefined, guild: Guild): Needs {
  const ids = namedIn((content ?? '').slice(0, CONTENT_UNITS_MAX)).userIds as readonly UserId[];
  const strangers = ids.filter((id) => !guild.members.get(id));
  return { members: ids, users: strangers };
}

/** A text of the largest length in code points has at most twice as many UTF-16 units. */
const CONTENT_UNITS_MAX = LIMITS.content_chars_max * 2;
