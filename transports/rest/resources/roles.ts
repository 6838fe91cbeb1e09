import type { RoleDraft, RoleMove } from '../../../engine/guild/roles.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { everyoneRoleOf, type GuildId, type RoleId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Role as RoleObject } from '../../../protocol/schemas/guild.ts';
import {
  Arr,
  Bool,
  ImageData,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  PermissionBits,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { dict, integer, list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { type Bucket, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

const Color = () => Optional(Nullable(Int(0, LIMITS.role_color_max)));

const Role = Obj({
  name: Optional(Nullable(NameText(1, LIMITS.role_name_chars_max))),
  permissions: Optional(Nullable(PermissionBits())),
  color: Color(),
  colors: Optional(
    Nullable(Obj({ primary_color: Color(), secondary_color: Color(), tertiary_color: Color() })),
  ),
  hoist: Optional(Nullable(Bool())),
  mentionable: Optional(Nullable(Bool())),
  icon: Optional(Nullable(ImageData())),
  unicode_emoji: Optional(Nullable(Str(0, 100))),
});

const Positions = Arr(
  Obj({
    id: Optional(Nullable(Snowflake<RoleId>())),
    position: Optional(Nullable(Int(-(2 ** 31), 2 ** 31 - 1))),
  }),
  LIMITS.roles_per_guild_max,
);

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'guild_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'guild_id', limit: 20, windowMs: 10_000 };

/**
 * Stores the draft's icon and replaces it by its hash. A caller who may not manage roles is refused before anything is
 * stored: listing roles with this authority requires the same permission as the command that follows.
 */
async function drafted(
  { icon, ...draft }: Static<typeof Role>,
  roleId: string,
  guildId: GuildId,
  authority: Authority,
  { guilds, blobs }: Services,
): Promise<Reply<RoleDraft>> {
  if (icon == null) return { ok: true, value: icon === undefined ? draft : { ...draft, icon } };
  const allowed = await guilds.call(guildId, 'listRoles', {}, authority);
  if (!allowed.ok) return allowed;
  const hash = await saveImage(blobs, 'role-icons', roleId, icon, 'icon');
  return hash.ok ? { ok: true, value: { ...draft, icon: hash.value } } : hash;
}

/** Operations on a guild's roles. */
export const roles = resource({
  list_guild_roles: op({
    method: 'GET',
    path: '/guilds/:guild_id/roles',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: list(RoleObject),
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'listRoles', {}, authority),
  }),
  get_guild_role: op({
    method: 'GET',
    path: '/guilds/:guild_id/roles/:role_id',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: RoleObject,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getRole', { roleId: params.role_id }, authority),
  }),
  create_guild_role: op({
    method: 'POST',
    path: '/guilds/:guild_id/roles',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: Role,
    status: 200,
    reply: RoleObject,
    handle: async ({ params, body, authority }, services) => {
      const guildId = params.guild_id;
      // The icon's URL contains the role's id, so the id is generated before the role is created.
      const roleId = services.nextId();
      const draft = await drafted(body, roleId, guildId, authority, services);
      if (!draft.ok) return draft;
      return await services.guilds.call(guildId, 'createRole', { draft: draft.value, roleId }, authority);
    },
  }),
  update_guild_role: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/roles/:role_id',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: Role,
    status: 200,
    reply: RoleObject,
    handle: async ({ params, body, authority }, services) => {
      const guildId = params.guild_id;
      const roleId = params.role_id;
      const draft = await drafted(body, roleId, guildId, authority, services);
      if (!draft.ok) return draft;
      return await services.guilds.call(guildId, 'updateRole', { draft: draft.value, roleId }, authority);
    },
  }),
  bulk_update_guild_roles: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/roles',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITE,
    body: Positions,
    status: 200,
    reply: list(RoleObject),
    handle: async ({ params, body, authority }, { guilds }) => {
      const moves = body.flatMap<RoleMove>(({ id, position }) =>
        id == null || position == null ? [] : { id: id, position },
      );
      return await guilds.call(params.guild_id, 'moveRoles', { moves }, authority);
    },
  }),
  delete_guild_role: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/roles/:role_id',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) =>
      guilds.call(params.guild_id, 'deleteRole', { roleId: params.role_id }, authority),
  }),
  guild_role_member_counts: op({
    method: 'GET',
    path: '/guilds/:guild_id/roles/member-counts',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: dict(integer),
    handle: async ({ params, authority }, { guilds, read }) => {
      const guildId = params.guild_id;
      const roles = await guilds.call(guildId, 'listRoles', {}, authority);
      if (!roles.ok) return roles;
      const counts = await read.guilds.roleMemberCounts(guildId);
      // Everyone holds @everyone, so it is not counted.
      const own = roles.value.filter(({ id }) => id !== everyoneRoleOf(guildId));
      return {
        ok: true,
        value: Object.fromEntries(own.map(({ id }) => [id, counts.get(id) ?? 0])),
      };
    },
  }),
});
