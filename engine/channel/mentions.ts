import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';

/** `allowed_mentions` of a request. When absent, everything that the text mentions is notified. */
export interface AllowedMentions {
  readonly parse?: readonly (string | null)[] | null;
  readonly users?: readonly (string | null)[] | null;
  readonly roles?: readonly (string | null)[] | null;
  readonly replied_user?: boolean | null;
}

/** Mentions in a text, before any permission check. Ids are distinct, in order of appearance. */
interface Named {
  readonly userIds: readonly string[];
  readonly roleIds: readonly string[];
  readonly everyone: boolean;
}

const CODE = /```[\s\S]*?```|``[\s\S]*?``|`[^`\n]*`/g;
const MENTION = /<@(!|&)?(\d{15,20})>/g;
const EVERYONE = /@(?:everyone|here)/;

/**
 * Finds the mentions of a text, at most 100 users and 100 roles. Mentions in code spans do not count. O(length), except
 * for unclosed code marks, which are quadratic in a text of at most 2000 characters.
 *
 * @source https://docs.discord.com/developers/reference#message-formatting
 */
export function namedIn(content: string): Named {
  if (!content.includes('@')) return NOBODY;
  const text = content.replace(CODE, ' ');
  const users = new Set<string>();
  const roles = new Set<string>();
  for (const [, kind, id] of text.matchAll(MENTION)) {
    const ids = kind === '&' ? roles : users;
    if (ids.size < LIMITS.allowed_mention_ids_max) ids.add(id!);
  }
  return { userIds: [...users], roleIds: [...roles], everyone: EVERYONE.test(text) };
}

const NOBODY: Named = { userIds: [], roleIds: [], everyone: false };

/** Refuses contradictions: a kind in `parse` together with a list of the same kind. */
export function contradictionIn(allowed: AllowedMentions | null | undefined): Refusal | null {
  for (const kind of ['users', 'roles'] as const) {
    if (allowed?.parse?.includes(kind) && allowed[kind]?.length) {
      const message = `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`;
      return invalidField(['allowed_mentions'], 'MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE', message);
    }
  }
  return null;
}

/** The part of `named` that the author allows; permissions are checked elsewhere. */
export function wanted(named: Named, allowed: AllowedMentions | null | undefined): Named {
  if (!allowed) return named;
  const pick = (kind: 'users' | 'roles', ids: readonly string[]): readonly string[] => {
    if (allowed.parse?.includes(kind)) return ids;
    const listed = new Set(allowed[kind] ?? []);
    return ids.filter((id) => listed.has(id));
  };
  return {
    userIds: pick('users', named.userIds),
    roleIds: pick('roles', named.roleIds),
    everyone: named.everyone && (allowed.parse?.includes('everyone') ?? false),
  };
}
