import type { RoleId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Emoji } from '../../../protocol/schemas/expression.ts';
import { Arr, Nullable, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { badFile, readEmojiImage } from '../expressionfile.ts';
import { type Bucket, op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'guild_id', limit: 20, windowMs: 10_000 };
const WRITE: Bucket = { per: 'guild_id', limit: 50, windowMs: 60_000 };

export const EmojiName = () => Str(LIMITS.emoji_name_chars_min, LIMITS.emoji_name_chars_max);
/** Names of emoji are written in texts, so they have only letters without accents, digits and underscores. */
export const wrongEmojiName = (name: string | undefined) =>
  name === undefined || /^\w+$/.test(name)
    ? null
    : badFile('name', 'STRING_TYPE_REGEX', 'String value did not match validation regex.');

/** The largest files in base64, and somewhat more, so that one too large gets its own error. */
const FILE_CHARS_MAX = 768 * 1024;
/** A data URI, which `expressionfile.ts` reads. */
export const FileData = () => Str(1, FILE_CHARS_MAX);

const ROLES_MAX = 1521;
const Roles = () => Optional(Nullable(Arr(Nullable(Snowflake<RoleId>()), ROLES_MAX)));

const rolesOf = (roles: readonly (RoleId | null)[] | null | undefined): RoleId[] =>
  (roles ?? []).filter((id) => id !== null);

/** Operations on a guild's emoji. */
export const emojis = resource({
  list_guild_emojis: op({
    method: 'GET',
    path: '/guilds/:guild_id/emojis',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: list(Emoji),
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'listEmojis', {}, authority),
  }),
  get_guild_emoji: op({
    method: 'GET',
    path: '/guilds/:guild_id/emojis/:emoji_id',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: Emoji,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getEmoji', { emojiId: params.emoji_id }, authority),
  }),
  create_guild_emoji: op({
    method: 'POST',
    path: '/guilds/:guild_id/emojis',
    auth: 'any',
    permission: P.CREATE_GUILD_EXPRESSIONS,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.expression,
    body: Obj({ name: EmojiName(), image: FileData(), roles: Roles() }),
    status: 201,
    reply: Emoji,
    handle: async ({ params, body, authority }, { guilds, expressionFiles, nextId }) => {
      const wrong = wrongEmojiName(body.name);
      if (wrong) return wrong;
      // Listing with this authority requires the permission of the command, before anything is parsed or stored.
      const allowed = await guilds.call(params.guild_id, 'listEmojis', {}, authority);
      if (!allowed.ok) return allowed;
      const image = readEmojiImage(body.image, 'image', LIMITS.emoji_bytes_max);
      if (!image.ok) return image;
      const emojiId = nextId();
      const { animated } = image.value;
      const input = { emojiId, name: body.name, roles: rolesOf(body.roles), animated };
      return await expressionFiles.using('emojis', emojiId, image.value, () =>
        guilds.call(params.guild_id, 'createEmoji', input, authority),
      );
    },
  }),
  update_guild_emoji: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/emojis/:emoji_id',
    auth: 'any',
    bucket: WRITE,
    body: Obj({ name: Optional(EmojiName()), roles: Roles() }),
    status: 200,
    reply: Emoji,
    handle: async ({ params, body, authority }, { guilds }) => {
      const wrong = wrongEmojiName(body.name);
      if (wrong) return wrong;
      const input = {
        emojiId: params.emoji_id,
        ...(body.name === undefined ? {} : { name: body.name }),
        ...(body.roles === undefined ? {} : { roles: rolesOf(body.roles) }),
      };
      return await guilds.call(params.guild_id, 'updateEmoji', input, authority);
    },
  }),
  delete_guild_emoji: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/emojis/:emoji_id',
    auth: 'any',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { guilds, expressionFiles }) => {
      const input = { emojiId: params.emoji_id };
      const reply = await guilds.call(params.guild_id, 'deleteEmoji', input, authority);
      if (reply.ok) await expressionFiles.delete('emojis', params.emoji_id);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});
