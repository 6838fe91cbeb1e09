import type { GuildId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { GuildProfile } from '../../../protocol/schemas/extension.ts';
import {
  Bool,
  ImageData,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
} from '../../../protocol/schemas/request.ts';
import { OwnUser } from '../../../protocol/schemas/user.ts';
import { ownUser } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { op, resource } from '../operation.ts';

/** @source https://docs.discord.com/developers/resources/user#user-object-user-primary-guild */
const TAG_CHARS_MAX = 4;

/** Guild tags, by the routes of people's own clients: the platform's file lists none that sets them. */
export const tagsUnlisted = resource({
  get_guild_profile: op({
    method: 'GET',
    path: '/guilds/:guild_id/profile',
    auth: 'any',
    bucket: { per: 'guild_id', limit: 10, windowMs: 10_000 },
    status: 200,
    reply: GuildProfile,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getGuildProfile', {}, authority),
  }),

  update_guild_profile: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/profile',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: { per: 'guild_id', limit: 5, windowMs: 60_000 },
    bodyBytesMax: BODY_BYTES.image,
    body: Obj({
      tag: Optional(Nullable(NameText(1, TAG_CHARS_MAX))),
      badge: Optional(Nullable(ImageData())),
    }),
    status: 200,
    reply: GuildProfile,
    async handle({ params, body, authority }, { guilds, blobs }) {
      const guildId = params.guild_id;
      const { tag, badge } = body;
      if (!badge) return await guilds.call(guildId, 'setTag', { draft: { tag, badge } }, authority);
      // Checked first, so that only members who may set the tag can store images.
      const may = await guilds.call(guildId, 'setTag', { draft: {} }, authority);
      if (!may.ok) return may;
      const saved = await saveImage(blobs, 'guild-tag-badges', guildId, badge, 'badge');
      if (!saved.ok) return saved;
      return await guilds.call(guildId, 'setTag', { draft: { tag, badge: saved.value } }, authority);
    },
  }),

  /** @source https://docs.discord.food/resources/user#modify-user-primary-guild */
  set_my_primary_guild: op({
    method: 'PUT',
    path: '/users/@me/clan',
    auth: 'user',
    bucket: { per: null, limit: 5, windowMs: 60_000 },
    body: Obj({
      identity_guild_id: Optional(Nullable(Snowflake<GuildId>())),
      identity_enabled: Optional(Nullable(Bool())),
    }),
    status: 200,
    reply: OwnUser,
    async handle({ body, caller, authority }, services) {
      const { identity_guild_id: guildId = null, identity_enabled: isOn = true } = body;
      const shown = isOn === true ? guildId : null;
      const reply = await services.users.chooseTag(caller.userId, shown, authority);
      return reply.ok ? { ok: true, value: await ownUser(reply.value, null, services) } : reply;
    },
  }),
});
