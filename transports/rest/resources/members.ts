import type { GuildCommands } from '../../../engine/guild/rules.ts';
import type { ChannelId, RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Nickname } from '../../../protocol/schemas/extension.ts';
import { Member } from '../../../protocol/schemas/member.ts';
import {
  Arr,
  Bool,
  Flags,
  ImageData,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Str,
  Timestamp,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;

const Nick = () => Optional(Nullable(NameText(0, LIMITS.nick_chars_max)));
const Limit = () => Optional(Int(1, LIMITS.members_page_max));

const UpdateMember = Obj({
  nick: Nick(),
  roles: Optional(Nullable(Arr(Nullable(Snowflake<RoleId>()), 350))),
  mute: Optional(Nullable(Bool())),
  deaf: Optional(Nullable(Bool())),
  channel_id: Optional(Nullable(Snowflake<ChannelId>())),
  communication_disabled_until: Optional(Nullable(Timestamp())),
  flags: Optional(Nullable(Flags())),
});

const AddMember = Obj({
  access_token: Str(0, 10_240),
  nick: Nick(),
  roles: Optional(Nullable(Arr(Snowflake<RoleId>(), LIMITS.roles_per_guild_max))),
  mute: Optional(Nullable(Bool())),
  deaf: Optional(Nullable(Bool())),
});

const UpdateMe = Obj({
  nick: Nick(),
  avatar: Optional(Nullable(ImageData())),
  banner: Optional(Nullable(ImageData())),
  bio: Optional(Nullable(Str(0, LIMITS.bio_chars_max))),
});

export const members = resource({
  list_guild_members: op({
    method: 'GET',
    path: '/guilds/:guild_id/members',
    auth: 'any',
    bucket: READS,
    query: Obj({ limit: Limit(), after: Optional(Snowflake<UserId>()) }),
    status: 200,
    reply: list(Member),
    handle: async ({ params, query, authority }, services) => {
      const guildId = params.guild_id;
      const may = await services.guilds.call(guildId, 'authorizeMemberRead', { wholeList: true }, authority);
      if (!may.ok) return may;
      const after = query.after ?? null;
      const limit = query.limit ?? LIMITS.members_page_default;
      return { ok: true, value: await services.read.guilds.membersAfter(guildId, after, limit) };
    },
  }),

  search_guild_members: op({
    method: 'GET',
    path: '/guilds/:guild_id/members/search',
    auth: 'any',
    bucket: READS,
    query: Obj({ query: Str(1, 100), limit: Limit() }),
    status: 200,
    reply: list(Member),
    handle: async ({ params, query, authority }, services) => {
      const guildId = params.guild_id;
      const may = await services.guilds.call(guildId, 'authorizeMemberRead', { wholeList: false }, authority);
      if (!may.ok) return may;
      const limit = query.limit ?? LIMITS.members_page_default;
      return { ok: true, value: await services.read.guilds.membersByPrefix(guildId, query.query, limit) };
    },
  }),

  get_guild_member: op({
    method: 'GET',
    path: '/guilds/:guild_id/members/:user_id',
    auth: 'any',
    bucket: { per: 'guild_id', limit: 50, windowMs: 10_000 },
    status: 200,
    reply: Member,
    handle: async ({ params, authority }, { guilds }) => {
      const reply = await guilds.call(params.guild_id, 'getMember', { userId: params.user_id }, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  add_guild_member: op({
    method: 'PUT',
    path: '/guilds/:guild_id/members/:user_id',
    auth: 'bot',
    permission: P.CREATE_INSTANT_INVITE,
    bucket: WRITES,
    body: AddMember,
    status: 201,
    reply: Member,
    also: { 204: none },
    handle: async ({ params, body, authority }, { guilds }) => {
      const { access_token: token, nick, roles, mute, deaf } = body;
      const member = { userId: params.user_id, ...given({ nick, roles, mute, deaf }) };
      const reply = await guilds.addAuthorized(params.guild_id, token, member, authority);
      if (!reply.ok) return reply;
      return reply.value.added ? { ok: true, value: reply.value.member } : { ok: true, status: 204 };
    },
  }),

  update_guild_member: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/members/:user_id',
    auth: 'any',
    bucket: WRITES,
    body: UpdateMember,
    status: 200,
    reply: Member,
    handle: async ({ params, body, authority }, { guilds }) => {
      const input = { userId: params.user_id, ...memberChange(body) };
      const reply = await guilds.call(params.guild_id, 'updateMember', input, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  update_my_guild_member: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/members/@me',
    auth: 'any',
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateMe,
    status: 200,
    reply: Member,
    handle: async ({ params, body, caller, authority }, { guilds, blobs }) => {
      const folder = `guilds/${params.guild_id}/users/${caller.userId}` as const;
      const hashes: { avatar?: string | null; banner?: string | null } = {};
      // Stored before the command decides: an image that nothing refers to is small and harmless.
      for (const field of ['avatar', 'banner'] as const) {
        const image = body[field];
        if (image === undefined) continue;
        const saved = image && (await saveImage(blobs, `${folder}/${field}s`, '', image, field));
        if (saved && !saved.ok) return saved;
        hashes[field] = saved ? saved.value : null;
      }
      const input = { ...given({ nick: body.nick }), ...hashes };
      const reply = await guilds.call(params.guild_id, 'updateMyMember', input, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  delete_guild_member: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/members/:user_id',
    auth: 'any',
    permission: P.KICK_MEMBERS,
    bucket: WRITES,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { guilds }) => {
      const reply = await guilds.call(params.guild_id, 'kickMember', { userId: params.user_id }, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  add_guild_member_role: switchRole('PUT', 'addMemberRole'),
  delete_guild_member_role: switchRole('DELETE', 'removeMemberRole'),
});

function switchRole(method: 'PUT' | 'DELETE', command: 'addMemberRole' | 'removeMemberRole') {
  return op({
    method,
    path: '/guilds/:guild_id/members/:user_id/roles/:role_id',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITES,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { guilds }) => {
      const input = { userId: params.user_id, roleId: params.role_id };
      const reply = await guilds.call(params.guild_id, command, input, authority);
      return reply.ok ? { ok: true } : reply;
    },
  });
}

type MemberChange = Omit<GuildCommands['updateMember']['input'], 'userId'>;

function memberChange(body: Static<typeof UpdateMember>): MemberChange {
  return given({
    nick: body.nick,
    roles: body.roles?.filter((id) => id !== null),
    mute: body.mute,
    deaf: body.deaf,
    channelId: body.channel_id,
    communicationDisabledUntil: body.communication_disabled_until,
    flags: body.flags,
    ...(body.roles === null ? { roles: null } : {}),
  });
}

/** Removes undefined values: in a change, absent and undefined must mean the same. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** Operations on members that the platform's OpenAPI does not list. */
export const membersUnlisted = resource({
  // discord.py and eris name themselves by it.
  update_my_guild_nick: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/members/@me/nick',
    auth: 'any',
    bucket: WRITES,
    body: Obj({ nick: Nick() }),
    status: 200,
    reply: Nickname,
    handle: async ({ params, body, authority }, { guilds }) => {
      const reply = await guilds.call(
        params.guild_id,
        'updateMyMember',
        given({ nick: body.nick }),
        authority,
      );
      return reply.ok ? { ok: true, value: { nick: reply.value.nick } } : reply;
    },
  }),
});
