import type { RoleConnection, RoleConnectionMetadata } from '../../../engine/social/facts.ts';
import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type Caller, op, resource } from '../operation.ts';
import { Arr, Choice, Dict, NameText, Nullable, Obj, Optional, type Static, Str } from '../schema.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 20, windowMs: 10_000 } as const;
const WRITE = { per: null, limit: 10, windowMs: 10_000 } as const;

const RECORDS_MAX = 5;
/** The platform's own bound: (3 × the number of its locales)². */
const LOCALES_MAX = 1_521;

const localized = (max: number) => Optional(Nullable(Dict(Nullable(Str(1, max)), LOCALES_MAX)));

const Metadata = Nullable(
  Arr(
    Obj({
      type: Choice(1, 2, 3, 4, 5, 6, 7, 8),
      key: Str(1, 50),
      name: NameText(1, 100),
      name_localizations: localized(100),
      description: Str(1, 200),
      description_localizations: localized(200),
    }),
    RECORDS_MAX,
  ),
);

const Connection = Obj({
  platform_name: Optional(Nullable(NameText(0, 50))),
  platform_username: Optional(Nullable(NameText(0, 100))),
  metadata: Optional(Nullable(Dict(Str(1, 100), RECORDS_MAX))),
});

const KEY = /^[a-z0-9_]+$/;
const INTEGER = /^-?\d{1,15}$/;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Whether text has the format of a value, by metadata type.
 *
 * @source https://docs.discord.com/developers/resources/application-role-connection-metadata,
 * "Application Role Connection Metadata Type"
 */
const isValue: Readonly<Record<number, (value: string) => boolean>> = {
  1: (value) => INTEGER.test(value),
  2: (value) => INTEGER.test(value),
  3: (value) => INTEGER.test(value),
  4: (value) => INTEGER.test(value),
  5: (value) => DATE.test(value) && !Number.isNaN(Date.parse(value)),
  6: (value) => DATE.test(value) && !Number.isNaN(Date.parse(value)),
  7: (value) => value === '0' || value === '1',
  8: (value) => value === '0' || value === '1',
};

/** Whether the caller is the application itself: its bot, or the application acting for a user. */
const isOwn = ({ applicationId }: Caller, id: string): boolean => applicationId === id;

const notYours = (): Answer => ({ ok: false, refusal: refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION') });

function wrongRecord(records: readonly { readonly key: string }[]): Refusal | null {
  const seen = new Set<string>();
  for (const [index, { key }] of records.entries()) {
    const wrong = !KEY.test(key)
      ? { code: 'APPLICATION_ROLE_CONNECTION_METADATA_KEY_INVALID', message: 'Only a-z, 0-9 and _.' }
      : seen.has(key)
        ? {
            code: 'APPLICATION_ROLE_CONNECTION_METADATA_KEY_DUPLICATE',
            message: 'The key stands here twice.',
          }
        : null;
    if (wrong) return invalidField([index, 'key'], wrong.code, wrong.message);
    seen.add(key);
  }
  return null;
}

/** Validates values; drops those whose keys the application has not declared. */
function describedOnly(
  values: Readonly<Record<string, string>>,
  records: readonly RoleConnectionMetadata[],
): { readonly values: Record<string, string> } | { readonly wrong: Refusal } {
  const kept: Record<string, string> = {};
  for (const { key, type } of records) {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value === undefined) continue;
    if (!isValue[type]?.(value)) {
      const message = 'This value does not fit the type of its key.';
      return { wrong: invalidField(['metadata', key], 'BASE_TYPE_INVALID', message) };
    }
    kept[key] = value;
  }
  return { values: kept };
}

const NONE: RoleConnection = { platform_name: '', platform_username: null, metadata: {} };

type Records = NonNullable<Static<typeof Metadata>>;
const recordOf = (record: Records[number]): RoleConnectionMetadata => {
  const { name_localizations, description_localizations, ...rest } = record;
  return {
    ...rest,
    ...(name_localizations && { name_localizations: given(name_localizations) }),
    ...(description_localizations && { description_localizations: given(description_localizations) }),
  };
};

const given = (texts: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([locale, text]) => (text === null ? [] : [[locale, text]])),
  );

/** Role connections: values about a user's external accounts that applications store, for roles that require them. */
export const roleConnections = resource({
  get_application_role_connections_metadata: op({
    method: 'GET',
    path: '/applications/:application_id/role-connections/metadata',
    auth: 'bot',
    bucket: READ,
    status: 200,
    handle: async ({ caller, params }, { social }) => {
      if (!isOwn(caller, params.application_id)) return notYours();
      return {
        ok: true,
        body: await social.roleConnections.metadata(params.application_id),
      };
    },
  }),

  update_application_role_connections_metadata: op({
    method: 'PUT',
    path: '/applications/:application_id/role-connections/metadata',
    auth: 'bot',
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.translations,
    body: Metadata,
    status: 200,
    handle: async ({ caller, params, body }, { social }) => {
      if (!isOwn(caller, params.application_id)) return notYours();
      const wrong = wrongRecord(body ?? []);
      if (wrong) return { ok: false, refusal: wrong };
      const records = (body ?? []).map(recordOf);
      const reply = await social.roleConnections.setMetadata(params.application_id, records);
      return reply.ok ? { ok: true, body: records } : reply;
    },
  }),

  get_application_user_role_connection: op({
    method: 'GET',
    path: '/users/@me/applications/:application_id/role-connection',
    auth: 'user',
    scope: 'role_connections.write',
    bucket: READ,
    status: 200,
    handle: async ({ caller, params }, { social }) => {
      if (!isOwn(caller, params.application_id)) return notYours();
      const { application_id } = params;
      const known = await social.roleConnections.get(caller.userId, application_id);
      return { ok: true, body: known ?? NONE };
    },
  }),

  update_application_user_role_connection: op({
    method: 'PUT',
    path: '/users/@me/applications/:application_id/role-connection',
    auth: 'user',
    scope: 'role_connections.write',
    bucket: WRITE,
    body: Connection,
    status: 200,
    handle: async ({ caller, params, body }, { social }) => {
      if (!isOwn(caller, params.application_id)) return notYours();
      const applicationId = params.application_id;
      const records = await social.roleConnections.metadata(applicationId);
      const described = describedOnly(body.metadata ?? {}, records);
      if ('wrong' in described) return { ok: false, refusal: described.wrong };
      const connection: RoleConnection = {
        platform_name: body.platform_name ?? '',
        platform_username: body.platform_username ?? null,
        metadata: described.values,
      };
      const reply = await social.roleConnections.set(caller.userId, applicationId, connection);
      return reply.ok ? { ok: true, body: connection } : reply;
    },
  }),

  delete_application_user_role_connection: op({
    method: 'DELETE',
    path: '/users/@me/applications/:application_id/role-connection',
    auth: 'user',
    scope: 'role_connections.write',
    bucket: WRITE,
    status: 204,
    handle: ({ caller, params }, { social }) =>
      isOwn(caller, params.application_id)
        ? social.roleConnections.set(caller.userId, params.application_id, null)
        : notYours(),
  }),

  // External accounts are linked only to applications, so this list is empty.
  list_my_connections: op({
    method: 'GET',
    path: '/users/@me/connections',
    auth: 'any',
    scope: 'connections',
    bucket: READ,
    status: 200,
    handle: () => ({ ok: true, body: [] }),
  }),
});
