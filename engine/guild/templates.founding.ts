import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, FreshId, GuildId, RoleId } from '../../protocol/ids.ts';
import { everyoneRoleOf } from '../../protocol/ids.ts';
import type { APIRole } from '../../protocol/objects.ts';
import { newFields } from './channels.shapes.ts';
import { channelFrom, newRole } from './founding.parts.ts';
import type { GuildChannel, GuildInfo } from './guild.ts';
import type { TemplateChannel, TemplateSnapshot } from './pages.types.ts';

/** The parts that a new guild takes from a template. */
interface TemplateParts {
  readonly roles: readonly APIRole[];
  readonly channels: readonly GuildChannel[];
  readonly info: Partial<GuildInfo>;
}

/** The roles, channels and settings of a template for a new guild, under ids of their own. */
export function templateParts(
  { roles, channels, name: _, afk_channel_id, system_channel_id, ...settings }: TemplateSnapshot,
  guildId: GuildId,
  nextId: () => FreshId,
): TemplateParts {
  const roleIds = new Map<string, RoleId>(
    roles.map(({ id }) => [String(id), id === 0 ? everyoneRoleOf(guildId) : nextId()]),
  );
  const channelIds = new Map<string, ChannelId>(channels.map(({ id }) => [String(id), nextId()]));
  const channelOf = (number: string | null): ChannelId | null =>
    number === null ? null : (channelIds.get(number) ?? null);
  return {
    roles: roles.map(({ id, ...role }, position) =>
      newRole({ ...role, id: roleIds.get(String(id)) ?? everyoneRoleOf(guildId), position }),
    ),
    channels: channels.map((channel) =>
      channelFrom({
        ...newFields(channel.type, channel.name ?? 'channel', fieldsOf(channel, nextId)),
        id: channelIds.get(String(channel.id)) ?? nextId(),
        type: channel.type,
        guild_id: guildId,
        parent_id: channel.type === CHANNEL.GUILD_CATEGORY ? null : channelOf(channel.parent_id),
        position: channel.position,
        permission_overwrites: channel.permission_overwrites.flatMap(({ id, ...bits }) => {
          const roleId = roleIds.get(id);
          return roleId === undefined ? [] : [{ ...bits, id: roleId }];
        }),
      }),
    ),
    info: {
      ...settings,
      afk_channel_id: channelOf(afk_channel_id),
      system_channel_id: channelOf(system_channel_id),
    },
  };
}

/** Tags of a forum have ids of the whole server. */
function fieldsOf(channel: TemplateChannel, nextId: () => FreshId): Readonly<Record<string, unknown>> {
  const tags = channel.available_tags?.map((tag) => ({ ...tag, id: nextId() }));
  return { ...channel, ...(tags && { available_tags: tags }) };
}
