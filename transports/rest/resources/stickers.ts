import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../../protocol/refusal.ts';
import {
  GuildSticker,
  Sticker,
  StickerPack,
  StickerPackCollection,
} from '../../../protocol/schemas/expression.ts';
import { NameText, Nullable, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { STICKER_PACKS, standardSticker } from '../../../protocol/stickers.ts';
import { type Bucket, op, resource } from '../operation.ts';
import { readSticker } from '../stickerfile.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'guild_id', limit: 20, windowMs: 10_000 };
const WRITE: Bucket = { per: 'guild_id', limit: 20, windowMs: 60_000 };
const READ_ANY: Bucket = { per: null, limit: 20, windowMs: 10_000 };

const Name = () => NameText(LIMITS.sticker_name_chars_min, LIMITS.sticker_name_chars_max);
const Tags = () => Str(1, LIMITS.sticker_tags_chars_max);
const Description = () => Optional(Nullable(Str(0, LIMITS.sticker_description_chars_max)));

/** An empty description counts as absent. */
const described = (text: string | null | undefined): string | null => text || null;

/** @source https://docs.discord.com/developers/resources/sticker#create-guild-sticker; empty or 2 to 100 characters */
function descriptionRefusal(text: string | null | undefined): { ok: false; refusal: Refusal } | null {
  const [least, most] = [LIMITS.sticker_description_chars_min, LIMITS.sticker_description_chars_max];
  if (!text || [...text].length >= least) return null;
  const message = `Must be between ${least} and ${most} in length.`;
  return { ok: false, refusal: invalidField(['description'], 'BASE_TYPE_BAD_LENGTH', message) };
}

/** Operations on stickers: the stickers of a guild, and the packs of all users. */
export const stickers = resource({
  list_guild_stickers: op({
    method: 'GET',
    path: '/guilds/:guild_id/stickers',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: list(GuildSticker),
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'listStickers', {}, authority),
  }),
  get_guild_sticker: op({
    method: 'GET',
    path: '/guilds/:guild_id/stickers/:sticker_id',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: GuildSticker,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getSticker', { stickerId: params.sticker_id }, authority),
  }),
  create_guild_sticker: op({
    method: 'POST',
    path: '/guilds/:guild_id/stickers',
    auth: 'any',
    permission: P.CREATE_GUILD_EXPRESSIONS,
    bucket: WRITE,
    multipart: true,
    body: Obj({ name: Name(), tags: Tags(), description: Description() }),
    status: 201,
    reply: GuildSticker,
    handle: async ({ params, body, files, authority }, { guilds, expressionFiles, nextId }) => {
      // Listing with this authority requires the permission of the command, before anything is parsed or stored.
      const allowed = await guilds.call(params.guild_id, 'listStickers', {}, authority);
      if (!allowed.ok) return allowed;
      const wrong = descriptionRefusal(body.description);
      if (wrong) return wrong;
      const upload = files.find(({ field }) => field === 'file') ?? files[0];
      if (!upload) return { ok: false, refusal: refusal('INVALID_FILE') };
      const file = readSticker(upload.bytes);
      if (!file.ok) return file;
      const stickerId = nextId();
      const { name, tags } = body;
      const { format } = file.value;
      const input = { stickerId, name, tags, description: described(body.description), format };
      return await expressionFiles.using('stickers', stickerId, file.value, () =>
        guilds.call(params.guild_id, 'createSticker', input, authority),
      );
    },
  }),
  update_guild_sticker: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/stickers/:sticker_id',
    auth: 'any',
    bucket: WRITE,
    body: Obj({ name: Optional(Name()), tags: Optional(Tags()), description: Description() }),
    status: 200,
    reply: GuildSticker,
    handle: async ({ params, body, authority }, { guilds }) => {
      const { description, ...rest } = body;
      const wrong = descriptionRefusal(description);
      if (wrong) return wrong;
      const input = {
        stickerId: params.sticker_id,
        ...rest,
        ...(description === undefined ? {} : { description: described(description) }),
      };
      return await guilds.call(params.guild_id, 'updateSticker', input, authority);
    },
  }),
  delete_guild_sticker: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/stickers/:sticker_id',
    auth: 'any',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { guilds, expressionFiles }) => {
      const input = { stickerId: params.sticker_id };
      const reply = await guilds.call(params.guild_id, 'deleteSticker', input, authority);
      if (reply.ok) await expressionFiles.delete('stickers', params.sticker_id);
      return reply.ok ? { ok: true } : reply;
    },
  }),
  get_sticker: op({
    method: 'GET',
    path: '/stickers/:sticker_id',
    auth: 'any',
    bucket: READ_ANY,
    status: 200,
    reply: Sticker,
    handle: async ({ params, authority }, { guilds, read }) => {
      const standard = standardSticker(params.sticker_id);
      if (standard) return { ok: true, value: standard };
      const owner = await read.expressions.owner(params.sticker_id);
      if (owner?.kind !== 'sticker') return { ok: false, refusal: refusal('UNKNOWN_STICKER') };
      const input = { stickerId: params.sticker_id };
      const reply = await guilds.call(owner.ownerId, 'getSticker', input, authority);
      // To strangers a guild's sticker looks like one that does not exist.
      return reply.ok ? reply : { ok: false, refusal: refusal('UNKNOWN_STICKER') };
    },
  }),
  list_sticker_packs: op({
    method: 'GET',
    path: '/sticker-packs',
    auth: 'none',
    bucket: READ_ANY,
    status: 200,
    reply: StickerPackCollection,
    handle: () => ({ ok: true, value: { sticker_packs: STICKER_PACKS } }),
  }),
  get_sticker_pack: op({
    method: 'GET',
    path: '/sticker-packs/:pack_id',
    auth: 'any',
    bucket: READ_ANY,
    status: 200,
    reply: StickerPack,
    handle: ({ params }) => {
      const pack = STICKER_PACKS.find(({ id }) => id === params.pack_id);
      return pack ? { ok: true, value: pack } : { ok: false, refusal: refusal('UNKNOWN_STICKER_PACK') };
    },
  }),
});
