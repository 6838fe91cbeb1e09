import type { RoleConnectionMetadata } from '../../../engine/social/facts.ts';
import {
  ApplicationRoleConnectionsMetadataItem,
  ApplicationUserRoleConnection,
  ConnectedAccount,
} from '../../../protocol/schemas/application.ts';
import {
  Arr,
  Choice,
  Dict,
  NameText,
  Nullable,
  Obj,
  Optional,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { op, resource } from '../operation.ts';

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
    reply: list(ApplicationRoleConnectionsMetadataItem),
    handle: async ({ caller, params }, { applicationAccess, social }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      return { ok: true, value: await social.roleConnections.metadata(params.application_id) };
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
    reply: list(ApplicationRoleConnectionsMetadataItem),
    handle: async ({ caller, params, body }, { applicationAccess, social }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      const records = (body ?? []).map(recordOf);
      return await social.roleConnections.setMetadata(params.application_id, records);
    },
  }),

  get_application_user_role_connection: op({
    method: 'GET',
    path: '/users/@me/applications/:application_id/role-connection',
    auth: 'user',
    scope: 'role_connections.write',
    bucket: READ,
    status: 200,
    reply: ApplicationUserRoleConnection,
    handle: async ({ caller, params }, { applicationAccess, social }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      return { ok: true, value: await social.roleConnections.get(caller.userId, params.application_id) };
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
    reply: ApplicationUserRoleConnection,
    handle: async ({ caller, params, body }, { applicationAccess, social }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      const connection = {
        platform_name: body.platform_name ?? '',
        platform_username: body.platform_username ?? null,
        metadata: body.metadata ?? {},
      };
      return await social.roleConnections.set(caller.userId, params.application_id, connection);
    },
  }),

  delete_application_user_role_connection: op({
    method: 'DELETE',
    path: '/users/@me/applications/:application_id/role-connection',
    auth: 'user',
    scope: 'role_connections.write',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ caller, params }, { applicationAccess, social }) => {
      const no = applicationAccess.applicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      return social.roleConnections.remove(caller.userId, params.application_id);
    },
  }),

  // External accounts are linked only to applications, so this list is empty.
  list_my_connections: op({
    method: 'GET',
    path: '/users/@me/connections',
    auth: 'any',
    scope: 'connections',
    bucket: READ,
    status: 200,
    reply: list(ConnectedAccount),
    handle: () => ({ ok: true, value: [] }),
  }),
});
