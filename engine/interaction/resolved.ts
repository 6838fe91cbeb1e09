import type { APIAttachment } from 'discord-api-types/v10';
import { hasFileType } from '../../protocol/filetypes.ts';
import { type FreshId, isAnyId } from '../../protocol/ids.ts';
import type { APIRole, APIUser } from '../../protocol/objects.ts';
import type { FieldPath, Form } from '../channel/form.ts';

/**
 * The objects that an interaction names, by id, in the wire's shape. Members come without their users, which are beside
 * them.
 */
export interface Resolved {
  users?: Record<string, APIUser>;
  members?: Record<string, object>;
  roles?: Record<string, APIRole>;
  channels?: Record<string, { readonly id: string; readonly type: number }>;
  messages?: Record<string, object>;
  attachments?: Record<string, APIAttachment>;
}

/** The kind of object that a value must identify. */
export type NamedKind = 'user' | 'role' | 'channel' | 'mentionable' | 'attachment';

/** A value that is checked after its object is loaded. */
export interface ResolvedCheck {
  readonly path: FieldPath;
  readonly kind: NamedKind;
  readonly id: FreshId;
  /** Types that a channel may have; absent for any. */
  readonly channelTypes?: readonly number[];
  /** Groups and extensions that a file may have; absent for any. */
  readonly fileTypes?: readonly string[];
}

/** An id as text or as a JSON integer; null for anything else. */
export function idIn(raw: unknown): FreshId | null {
  const isInteger = typeof raw === 'bigint' || Number.isSafeInteger(raw);
  const text = isInteger ? String(raw) : raw;
  return isAnyId(text) ? text : null;
}

/** Ids that an invocation names, to be resolved before it is checked further. */
export interface ReferencedIds {
  readonly users: ReadonlySet<FreshId>;
  readonly roles: ReadonlySet<FreshId>;
  readonly channels: ReadonlySet<FreshId>;
  /** Each is a user or a role. */
  readonly mentionables: ReadonlySet<FreshId>;
  /** Ids of the request's uploads. */
  readonly attachments: ReadonlySet<FreshId>;
}

export const wantedBy = (checks: readonly ResolvedCheck[]): ReferencedIds => {
  const of = (wanted: NamedKind) => new Set(checks.flatMap(({ kind, id }) => (kind === wanted ? [id] : [])));
  return {
    users: of('user'),
    roles: of('role'),
    channels: of('channel'),
    mentionables: of('mentionable'),
    attachments: of('attachment'),
  };
};

/** Reports values whose object does not exist or has the wrong type. @param uploads Files by the request's ids. */
export function checkResolved(
  checks: readonly ResolvedCheck[],
  { users = {}, roles = {}, channels = {} }: Resolved,
  uploads: Readonly<Record<string, { readonly filename: string }>>,
  form: Form,
): void {
  for (const { path, kind, id, channelTypes, fileTypes } of checks) {
    const unknown = (): void => form.add(path, `INVALID_${kind.toUpperCase()}`, `Unknown ${kind}.`);
    if (kind === 'user' && !users[id]) unknown();
    if (kind === 'role' && !roles[id]) unknown();
    if (kind === 'mentionable' && !users[id] && !roles[id]) unknown();
    const channel = channels[id];
    if (kind === 'channel' && !channel) unknown();
    if (channel && channelTypes && !channelTypes.includes(channel.type))
      form.add(path, 'CHANNEL_TYPE_INVALID', 'A channel of this type cannot be chosen.');
    const file = kind === 'attachment' ? uploads[id] : undefined;
    if (kind === 'attachment' && !file) unknown();
    if (file && fileTypes && !hasFileType(file.filename, fileTypes))
      form.add(path, 'FILE_TYPE_INVALID', `The file must be one of: ${fileTypes.join(', ')}.`);
  }
}
