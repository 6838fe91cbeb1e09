import type { APIAuditLogChange, APIAuditLogOptions, AuditLogEvent } from 'discord-api-types/v10';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { AuditFacts, GuildFact } from './facts.ts';

/** One changed field of the affected object: without `new_value` it was reset, without `old_value` it was unset. */
export interface Change {
  readonly key: string;
  readonly new_value?: unknown;
  readonly old_value?: unknown;
}

export interface AuditDraft {
  readonly actionType: AuditLogEvent;
  /** The affected object's id; null where the platform gives none. */
  readonly targetId: string | null;
  /** An empty list is omitted from the entry. */
  readonly changes?: readonly Change[];
  readonly options?: APIAuditLogOptions;
}

export type AuditFact = Extract<GuildFact, { type: 'auditLogged' }>;

/** The fact that adds an audit log entry, with the caller's `X-Audit-Log-Reason`. */
export function auditEntry(env: Env, by: By, draft: AuditDraft): AuditFact {
  const entry: AuditFacts['auditLogged']['entry'] = {
    id: env.nextId(),
    action_type: draft.actionType,
    user_id: by.userId,
    target_id: draft.targetId,
  };
  // The wire's type ties every key to its own value type; the keys here come from the objects.
  if (draft.changes?.length) entry.changes = draft.changes as APIAuditLogChange[];
  if (draft.options) entry.options = draft.options;
  if (by.reason) entry.reason = by.reason;
  return { type: 'auditLogged', entry };
}

/** Fields that hold an image hash; the log appends `_hash` to their names. */
const HASHED: ReadonlySet<string> = new Set([
  'icon',
  'splash',
  'discovery_splash',
  'banner',
  'avatar',
  'image',
]);

/**
 * The wire's list of changes between two versions of one object, in the order of `keys`. Null stands for no object,
 * before a creation or after a deletion. Fields equal by value do not appear; null and absent count as unset.
 *
 * @source https://docs.discord.com/developers/resources/audit-log#audit-log-change-object
 */
export function changesOf<T extends object>(
  before: T | null,
  after: T | null,
  keys: readonly (keyof T & string)[],
): Change[] {
  const changes: Change[] = [];
  for (const key of keys) {
    const was: unknown = before?.[key] ?? undefined;
    const is: unknown = after?.[key] ?? undefined;
    if (sameValue(was, is)) continue;
    changes.push({
      key: HASHED.has(key) ? `${key}_hash` : key,
      ...(is === undefined ? {} : { new_value: is }),
      ...(was === undefined ? {} : { old_value: was }),
    });
  }
  return changes;
}

/** Whether two JSON values are equal; the order of an object's keys does not matter. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) => Object.hasOwn(b, key) && sameValue(a[key as keyof typeof a], b[key as keyof typeof b]),
  );
}
