import type { GuildDraft } from '../../../engine/guild/info.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { isInForce } from '../../../protocol/dates.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import { CHOICES, LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { keysOf } from '../../../protocol/present.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { MfaLevel } from '../../../protocol/schemas/extension.ts';
import { CountedGuild, Guild, GuildPreview } from '../../../protocol/schemas/guild.ts';
import {
  Arr,
  Bool,
  Choice,
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
} from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type ImageKind, saveImage } from '../image.ts';
import { type Bucket, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

/**
 * @source https://docs.discord.com/developers/reference#locales;
 * https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json, `AvailableLocalesEnum`
 */
const LOCALES = [
  'ar',
  'bg',
  'cs',
  'da',
  'de',
  'el',
  'en-GB',
  'en-US',
  'es-419',
  'es-ES',
  'fi',
  'fr',
  'he',
  'hi',
  'hr',
  'hu',
  'id',
  'it',
  'ja',
  'ko',
  'lt',
  'nl',
  'no',
  'pl',
  'pt-BR',
  'ro',
  'ru',
  'sv-SE',
  'th',
  'tr',
  'uk',
  'vi',
  'zh-CN',
  'zh-TW',
] as const;

const Image = () => Optional(Nullable(ImageData()));
const ChannelRef = () => Optional(Nullable(Snowflake()));

const UpdateGuild = Obj({
  name: Optional(NameText(LIMITS.guild_name_chars_min, LIMITS.guild_name_chars_max)),
  description: Optional(Nullable(Str(0, LIMITS.guild_description_chars_max))),
  region: Optional(Nullable(Str(0, 100))),
  icon: Image(),
  splash: Image(),
  discovery_splash: Image(),
  banner: Image(),
  home_header: Image(),
  verification_level: Optional(Nullable(Choice(0, 1, 2, 3, 4))),
  default_message_notifications: Optional(Nullable(Choice(0, 1))),
  explicit_content_filter: Optional(Nullable(Choice(0, 1, 2))),
  preferred_locale: Optional(Nullable(Choice(...LOCALES))),
  afk_timeout: Optional(Nullable(Choice(...CHOICES.afk_timeout_sec))),
  afk_channel_id: ChannelRef(),
  system_channel_id: ChannelRef(),
  system_channel_flags: Optional(Nullable(Flags())),
  rules_channel_id: ChannelRef(),
  safety_alerts_channel_id: ChannelRef(),
  public_updates_channel_id: ChannelRef(),
  premium_progress_bar_enabled: Optional(Nullable(Bool())),
  features: Optional(Nullable(Arr(Nullable(Str(0, 100)), 200))),
});

/** Blob collections of a guild's images. */
const IMAGES = {
  icon: 'icons',
  splash: 'splashes',
  discovery_splash: 'discovery-splashes',
  banner: 'banners',
  home_header: 'banners',
} as const satisfies Partial<Record<keyof GuildDraft, ImageKind>>;
type ImageField = keyof typeof IMAGES;

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'guild_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'guild_id', limit: 10, windowMs: 10_000 };

/**
 * Stores the draft's images and replaces them by their hashes. A caller who may not manage the guild is refused before
 * anything is stored: reading the guild with this authority requires the same permission.
 */
async function drafted(
  body: Static<typeof UpdateGuild>,
  guildId: GuildId,
  authority: Authority,
  { guilds, blobs }: Services,
): Promise<Reply<GuildDraft>> {
  const fields = keysOf(IMAGES).filter((field) => body[field] != null);
  if (fields.length === 0) return { ok: true, value: body as GuildDraft };
  const allowed = await guilds.call(guildId, 'getGuild', { withCounts: false }, authority);
  if (!allowed.ok) return allowed;
  const hashes: Partial<Record<ImageField, string>> = {};
  for (const field of fields) {
    const hash = await saveImage(blobs, IMAGES[field], guildId, body[field]!, field);
    if (!hash.ok) return hash;
    hashes[field] = hash.value;
  }
  return { ok: true, value: { ...body, ...hashes } as GuildDraft };
}

/** Operations on a guild itself. */
export const guilds = resource({
  get_guild: op({
    method: 'GET',
    path: '/guilds/:guild_id',
    auth: 'any',
    bucket: READ,
    query: Obj({ with_counts: Optional(Bool()) }),
    status: 200,
    reply: CountedGuild,
    handle: async ({ params, query, authority }, { guilds }) => {
      const withCounts = query.with_counts ?? false;
      return await guilds.call(params.guild_id, 'getGuild', { withCounts }, authority);
    },
  }),
  get_guild_preview: op({
    method: 'GET',
    path: '/guilds/:guild_id/preview',
    auth: 'any',
    bucket: READ,
    status: 200,
    reply: GuildPreview,
    handle: async ({ params, authority }, { guilds, system }) => {
      const own = await guilds.call(params.guild_id, 'previewGuild', {}, authority);
      const isStranger = !own.ok && own.refusal.code === refusal('UNKNOWN_GUILD').code;
      if (!isStranger) return own;
      return await guilds.call(params.guild_id, 'previewDiscoverableGuild', {}, system);
    },
  }),
  update_guild: op({
    method: 'PATCH',
    path: '/guilds/:guild_id',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateGuild,
    status: 200,
    reply: Guild,
    handle: async ({ params, body, authority }, services) => {
      const guildId = params.guild_id;
      const draft = await drafted(body, guildId, authority, services);
      if (!draft.ok) return draft;
      return await services.guilds.call(guildId, 'updateGuild', { draft: draft.value }, authority);
    },
  }),
});

const CreateGuild = Obj({
  name: NameText(LIMITS.guild_name_chars_min, LIMITS.guild_name_chars_max),
  icon: Image(),
  verification_level: Optional(Nullable(Choice(0, 1, 2, 3, 4))),
  default_message_notifications: Optional(Nullable(Choice(0, 1))),
  explicit_content_filter: Optional(Nullable(Choice(0, 1, 2))),
  system_channel_flags: Optional(Nullable(Flags())),
  afk_timeout: Optional(Nullable(Choice(...CHOICES.afk_timeout_sec))),
});

/** Members whose ids are read at a time before a guild is deleted. */

/** Operations on guilds that user clients use and the platform's OpenAPI does not list. */
export const guildsUnlisted = resource({
  set_guild_mfa_level: op({
    method: 'POST',
    path: '/guilds/:guild_id/mfa',
    auth: 'user',
    bucket: { per: 'guild_id', limit: 5, windowMs: 60_000 },
    body: Obj({ level: Int(0, 255) }),
    status: 200,
    reply: MfaLevel,
    handle: async ({ params, body: { level }, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'setMfaLevel', { level }, authority),
  }),

  create_guild: op({
    method: 'POST',
    path: '/guilds',
    auth: 'any',
    bucket: { per: null, limit: 5, windowMs: 60_000 },
    body: CreateGuild,
    bodyBytesMax: BODY_BYTES.image,
    status: 201,
    reply: Guild,
    handle: async ({ body: { name, icon, ...choices }, caller }, { guilds, blobs, nextId, rulesMs }) => {
      if (caller.kind === 'bot' && isInForce('applications_create_no_guilds', rulesMs()))
        return { ok: false, refusal: refusal('BOTS_CANNOT_USE_THIS_ENDPOINT') };
      const id = nextId();
      const saved = icon ? await saveImage(blobs, 'icons', id, icon, 'icon') : null;
      if (saved && !saved.ok) return saved;
      const chosen = Object.fromEntries(Object.entries(choices).filter(([, value]) => value != null));
      return await guilds.create(caller.userId, id, name.trim(), {
        ...chosen,
        ...(saved && { icon: saved.value }),
      });
    },
  }),

  delete_guild: op({
    method: 'DELETE',
    path: '/guilds/:guild_id',
    auth: 'user',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) => guilds.delete(params.guild_id, authority),
  }),
});
