import type { ChannelId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { Widget, WidgetSettings } from '../../../protocol/schemas/guildpages.ts';
import { Bool, Choice, Nullable, Obj, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import { bytes } from '../../../protocol/schemas/schema.ts';
import { imageKey } from '../image.ts';
import { op, resource } from '../operation.ts';
import { iconSquare, WIDGET_STYLES, widgetPicture } from '../widgetpicture.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 5, windowMs: 10_000 } as const;
/** For web pages of any origin. */
const PUBLIC = { per: 'guild_id', limit: 30, windowMs: 10_000 } as const;

/** Default avatars, of which each member of a widget has one: a real one would tell who it is. */
const AVATARS = 6;

export const widget = resource({
  get_guild_widget_settings: op({
    method: 'GET',
    path: '/guilds/:guild_id/widget',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: READS,
    status: 200,
    reply: WidgetSettings,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getWidgetSettings', {}, authority),
  }),

  update_guild_widget_settings: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/widget',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    body: Obj({
      channel_id: Optional(Nullable(Snowflake<ChannelId>())),
      enabled: Optional(Nullable(Bool())),
    }),
    status: 200,
    reply: WidgetSettings,
    handle: async ({ params, body: draft, authority }, { guilds, invites }) => {
      const input = { draft, code: invites.newCode() };
      return await guilds.call(params.guild_id, 'updateWidgetSettings', input, authority);
    },
  }),

  get_guild_widget: op({
    method: 'GET',
    path: '/guilds/:guild_id/widget.json',
    auth: 'none',
    bucket: PUBLIC,
    status: 200,
    reply: Widget,
    handle: async ({ params, publicUrl }, { guilds, system }) => {
      const reply = await guilds.call(params.guild_id, 'getWidget', {}, system);
      if (!reply.ok) return reply;
      const { inviteCode: code, icon: _, ...shown } = reply.value;
      const members = shown.members.map((member, at) => ({
        ...member,
        avatar_url: `${publicUrl}/embed/avatars/${at % AVATARS}.png`,
      }));
      return {
        ok: true,
        value: { ...shown, members, instant_invite: code === null ? null : `${publicUrl}/invite/${code}` },
      };
    },
  }),

  get_guild_widget_png: op({
    method: 'GET',
    path: '/guilds/:guild_id/widget.png',
    auth: 'none',
    bucket: PUBLIC,
    query: Obj({ style: Optional(Choice(...WIDGET_STYLES)) }),
    media: 'image/png',
    status: 200,
    reply: bytes,
    handle: async ({ params, query }, { guilds, overlay, system }) => {
      const reply = await guilds.call(params.guild_id, 'getWidget', {}, system);
      if (!reply.ok) return reply;
      const { id, name, icon, presence_count: online } = reply.value;
      const style = query.style ?? 'shield';
      const drawn = widgetPicture(style, { name, online });
      const square = icon === null ? null : iconSquare(style);
      if (icon === null || square === null) return { ok: true, value: drawn };
      return { ok: true, value: (await overlay(drawn, imageKey('icons', id, icon), square)) ?? drawn };
    },
  }),
});
