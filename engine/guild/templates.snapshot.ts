import { CHANNEL } from '../../protocol/channeltypes.ts';
import { type ChannelId, everyoneRoleOf } from '../../protocol/ids.ts';
import type { Guild, GuildChannel } from './guild.ts';
import type { TemplateChannel, TemplateRole, TemplateSnapshot } from './pages.types.ts';
import { rolesByRank } from './roles.ts';

/** A template knows four types of channels; the others become the nearest of them. */
const TYPES: Readonly<Record<number, number>> = {
  [CHANNEL.GUILD_TEXT]: CHANNEL.GUILD_TEXT,
  [CHANNEL.GUILD_ANNOUNCEMENT]: CHANNEL.GUILD_TEXT,
  [CHANNEL.GUILD_VOICE]: CHANNEL.GUILD_VOICE,
  [CHANNEL.GUILD_STAGE_VOICE]: CHANNEL.GUILD_VOICE,
  [CHANNEL.GUILD_CATEGORY]: CHANNEL.GUILD_CATEGORY,
  [CHANNEL.GUILD_FORUM]: CHANNEL.GUILD_FORUM,
  [CHANNEL.GUILD_MEDIA]: CHANNEL.GUILD_FORUM,
};

const SETTINGS = [
  'name',
  'description',
  'region',
  'verification_level',
  'default_message_notifications',
  'explicit_content_filter',
  'preferred_locale',
  'afk_timeout',
  'system_channel_flags',
] as const;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The guild as a template keeps it: its settings, roles without an owner, and channels, all under small numbers.
 * Overwrites of single members, and what members wrote, are left out.
 */
export function snapshotOf(guild: Guild): TemplateSnapshot {
  const roleNumbers = new Map<string, number>();
  const roles: TemplateRole[] = [];
  // @everyone is first and has number 0, whatever its position.
  for (const role of rolesByRank(guild).toSorted((a, b) => a.position - b.position)) {
    if (role.managed) continue;
    const number = role.id === everyoneRoleOf(guild.id) ? 0 : roles.filter(({ id }) => id > 0).length + 1;
    roleNumbers.set(role.id, number);
    const { name, permissions, color, hoist, mentionable, unicode_emoji } = role;
    const { primary_color = color, secondary_color = null, tertiary_color = null } = role.colors ?? {};
    const colors = { primary_color, secondary_color, tertiary_color };
    const looks = { color, colors, hoist, mentionable, icon: null, unicode_emoji: unicode_emoji ?? null };
    roles.push({ id: number, name, permissions, ...looks });
  }
  const listed = [...guild.channels.values()].filter(({ type }) => TYPES[type] !== undefined).sort(inOrder);
  const numbers = new Map<ChannelId, number>(listed.map(({ id }, at) => [id, at + 1]));
  const numberOf = (id: ChannelId | null | undefined): string | null => {
    const number = id ? numbers.get(id) : undefined;
    return number === undefined ? null : String(number);
  };
  const { afk_channel_id, system_channel_id } = guild.info;
  return {
    ...Object.fromEntries(SETTINGS.map((key) => [key, guild.info[key] ?? null])),
    name: guild.info.name,
    afk_channel_id: numberOf(afk_channel_id),
    system_channel_id: numberOf(system_channel_id),
    roles,
    channels: listed.map((channel, at) => ({
      ...channelFields(channel),
      id: at + 1,
      type: TYPES[channel.type] ?? CHANNEL.GUILD_TEXT,
      name: channel.name ?? null,
      parent_id: numberOf(channel.parent_id),
      permission_overwrites: overwritesOf(channel, roleNumbers),
    })),
  };
}

/** Categories first, so that a parent is made before its channels. */
const inOrder = (a: GuildChannel, b: GuildChannel): number =>
  Number(b.type === CHANNEL.GUILD_CATEGORY) - Number(a.type === CHANNEL.GUILD_CATEGORY) ||
  a.position - b.position ||
  (a.id < b.id ? -1 : 1);

function overwritesOf(
  { permission_overwrites }: GuildChannel,
  roleNumbers: ReadonlyMap<string, number>,
): TemplateChannel['permission_overwrites'] {
  return (permission_overwrites ?? []).flatMap(({ id, type, allow, deny }) => {
    const number = roleNumbers.get(id);
    return type !== 0 || number === undefined ? [] : [{ id: String(number), type, allow, deny }];
  });
}

/** The fields of a channel of any type; those that it does not have are null or empty. */
function channelFields(channel: GuildChannel): Pick<TemplateChannel, 'position' | 'available_tags'> & Fields {
  const has: Fields = { ...channel };
  const tags: readonly unknown[] | null = Array.isArray(has.available_tags) ? has.available_tags : null;
  return {
    position: channel.position,
    topic: has.topic ?? null,
    bitrate: has.bitrate ?? 64_000,
    user_limit: has.user_limit ?? 0,
    nsfw: has.nsfw ?? false,
    rate_limit_per_user: has.rate_limit_per_user ?? 0,
    default_auto_archive_duration: has.default_auto_archive_duration ?? null,
    available_tags: tags?.map((tag, at) => ({ ...Object(tag), id: at + 1 })) ?? null,
    template: '',
    default_reaction_emoji: has.default_reaction_emoji ?? null,
    default_thread_rate_limit_per_user: has.default_thread_rate_limit_per_user ?? null,
    default_sort_order: has.default_sort_order ?? null,
    default_forum_layout: has.default_forum_layout ?? null,
    default_tag_setting: has.default_tag_setting ?? null,
    theme_color: null,
  };
}
