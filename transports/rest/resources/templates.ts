import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../../protocol/refusal.ts';
import { Guild } from '../../../protocol/schemas/guild.ts';
import { ImageData, NameText, Nullable, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { list } from '../../../protocol/schemas/schema.ts';
import { Template } from '../../../protocol/schemas/template.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 5, windowMs: 10_000 } as const;
const BY_CODE = { per: null, limit: 10, windowMs: 10_000 } as const;

const Name = () => Str(1, LIMITS.template_name_chars_max);
const Description = () => Optional(Nullable(Str(0, LIMITS.template_description_chars_max)));

const unknown = (): { ok: false; refusal: Refusal } => ({
  ok: false,
  refusal: refusal('UNKNOWN_GUILD_TEMPLATE'),
});

const guildOf = (code: string, { read }: Services) =>
  code.length > LIMITS.invite_code_chars_max ? null : read.directory.templateGuild(code);

export const templates = resource({
  get_guild_template: op({
    method: 'GET',
    path: '/guilds/templates/:code',
    auth: 'none',
    bucket: BY_CODE,
    status: 200,
    reply: Template,
    handle: async ({ params: { code } }, services) => {
      const guildId = await guildOf(code, services);
      if (guildId === null) return unknown();
      return await services.guilds.call(guildId, 'resolveTemplate', { code }, services.system);
    },
  }),

  list_guild_templates: op({
    method: 'GET',
    path: '/guilds/:guild_id/templates',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: READS,
    status: 200,
    reply: list(Template),
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'listTemplates', {}, authority),
  }),

  create_guild_template: op({
    method: 'POST',
    path: '/guilds/:guild_id/templates',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    body: Obj({ name: Name(), description: Description() }),
    status: 200,
    reply: Template,
    handle: async ({ params, body, authority }, { guilds, invites }) => {
      const { name, description } = body;
      const input = { name, description: description || null, code: invites.newCode() };
      return await guilds.call(params.guild_id, 'createTemplate', input, authority);
    },
  }),

  sync_guild_template: op({
    method: 'PUT',
    path: '/guilds/:guild_id/templates/:code',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    status: 200,
    reply: Template,
    handle: async ({ params: { guild_id, code }, authority }, { guilds }) =>
      await guilds.call(guild_id, 'syncTemplate', { code }, authority),
  }),

  update_guild_template: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/templates/:code',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    body: Obj({ name: Optional(Name()), description: Description() }),
    status: 200,
    reply: Template,
    handle: async ({ params: { guild_id, code }, body, authority }, { guilds }) => {
      const { name, description } = body;
      const stated = {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description: description || null }),
      };
      return await guilds.call(guild_id, 'updateTemplate', { code, ...stated }, authority);
    },
  }),

  delete_guild_template: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/templates/:code',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    status: 200,
    reply: Template,
    handle: async ({ params: { guild_id, code }, authority }, { guilds }) =>
      await guilds.call(guild_id, 'deleteTemplate', { code }, authority),
  }),
});

/** Operations on templates that the platform's OpenAPI does not list. */
export const templatesUnlisted = resource({
  create_guild_from_template: op({
    method: 'POST',
    path: '/guilds/templates/:code',
    auth: 'user',
    bucket: { per: null, limit: 5, windowMs: 60_000 },
    body: Obj({
      name: NameText(LIMITS.guild_name_chars_min, LIMITS.guild_name_chars_max),
      icon: Optional(Nullable(ImageData())),
    }),
    bodyBytesMax: BODY_BYTES.image,
    status: 201,
    reply: Guild,
    handle: async ({ params: { code }, body: { name, icon }, caller }, services) => {
      const { guilds, blobs, nextId, system } = services;
      const guildId = await guildOf(code, services);
      if (guildId === null) return unknown();
      const found = await guilds.call(guildId, 'resolveTemplate', { code }, system);
      if (!found.ok) return found;
      const id = nextId();
      const saved = icon ? await saveImage(blobs, 'icons', id, icon, 'icon') : null;
      if (saved && !saved.ok) return saved;
      const chosen = {
        template: found.value.serialized_source_guild,
        ...(saved && { icon: saved.value }),
      };
      const made = await guilds.create(caller.userId, id, name.trim(), chosen);
      if (made.ok) await guilds.call(guildId, 'countTemplateUse', { code }, system);
      return made;
    },
  }),
});
