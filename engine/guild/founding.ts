import { CHANNEL } from '../../protocol/channeltypes.ts';
import {
  type ChannelId,
  everyoneRoleOf,
  type FreshId,
  type GuildId,
  type UserId,
} from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIRole, APIUser } from '../../protocol/objects.ts';
import { DEFAULT_EVERYONE, formatPermissions } from '../../protocol/permissions.ts';
import { newFields } from './channels.shapes.ts';
import type { GuildFact } from './facts.ts';
import { channelFrom, newRole } from './founding.parts.ts';
import type { GuildChannel, GuildInfo } from './guild.ts';
import { newMember } from './members.joining.ts';
import type { TemplateSnapshot } from './pages.types.ts';
import { templateParts } from './templates.founding.ts';

interface NewChannel {
  readonly name: string;
  /** A category's number applies to all channels behind it, up to the next category. */
  readonly type: number;
}

/** Fields that can be chosen when a guild is created. */
type GuildChoice = Pick<
  GuildInfo,
  | 'icon'
  | 'verification_level'
  | 'default_message_notifications'
  | 'explicit_content_filter'
  | 'system_channel_flags'
  | 'afk_timeout'
>;

/** The founder's choices: fields, or a template for the rest. */
export type FoundingChoice = Partial<GuildChoice> & { readonly template?: TemplateSnapshot };

/** The default channels of a new guild: one for text and one for voice. */
const FIRST_CHANNELS: readonly NewChannel[] = [
  { name: 'Text Channels', type: CHANNEL.GUILD_CATEGORY },
  { name: 'general', type: CHANNEL.GUILD_TEXT },
  { name: 'Voice Channels', type: CHANNEL.GUILD_CATEGORY },
  { name: 'General', type: CHANNEL.GUILD_VOICE },
];

/** Nothing is sold here, so features that boosts unlock are enabled from the start. */
const FEATURES = ['ANIMATED_BANNER', 'ANIMATED_ICON', 'BANNER', 'INVITE_SPLASH', 'NEWS', 'ROLE_ICONS'];

type GuildCreated = Extract<GuildFact, { type: 'guildCreated' }>;

/**
 * The fact that creates a guild: @everyone (whose id is the guild's), the owner as its first member, and the channels,
 * each below the category before it. The first text channel gets the join messages.
 *
 * @param nowMs Unix milliseconds.
 */
export function newGuild(founding: {
  readonly id: GuildId;
  readonly name: string;
  readonly ownerId: UserId;
  readonly ownerUser: APIUser;
  readonly nowMs: number;
  readonly nextId: () => FreshId;
  readonly channels?: readonly NewChannel[];
  /** Fields chosen by the founder; the others get their defaults. */
  readonly chosen?: FoundingChoice;
}): GuildCreated {
  const { id, nowMs } = founding;
  const { template, ...chosen } = founding.chosen ?? {};
  const owner = newMember({ user: founding.ownerUser }, nowMs);
  if (template) {
    const { roles, channels, info } = templateParts(template, id, founding.nextId);
    const first = firstInfo(id, founding.name, founding.ownerId, null);
    return { type: 'guildCreated', info: { ...first, ...info, ...chosen }, roles, channels, owner };
  }
  const channels = firstChannels(id, founding.channels ?? FIRST_CHANNELS, founding.nextId);
  const greeting = channels.find(({ type }) => type === CHANNEL.GUILD_TEXT)?.id ?? null;
  return {
    type: 'guildCreated',
    info: { ...firstInfo(id, founding.name, founding.ownerId, greeting), ...chosen },
    roles: [everyone(id)],
    channels,
    owner,
  };
}

function firstChannels(
  guildId: GuildId,
  drafts: readonly NewChannel[],
  nextId: () => FreshId,
): GuildChannel[] {
  let category: ChannelId | null = null;
  const positions = new Map<string, number>();
  return drafts.map(({ name, type }) => {
    const id = nextId();
    if (type === CHANNEL.GUILD_CATEGORY) category = id;
    const parentId = type === CHANNEL.GUILD_CATEGORY ? null : category;
    const place = `${parentId}:${type}`;
    const position = positions.get(place) ?? 0;
    positions.set(place, position + 1);
    return channelFrom({
      ...newFields(type, name),
      id,
      type,
      guild_id: guildId,
      parent_id: parentId,
      position,
      permission_overwrites: [],
    });
  });
}

/** The role that every member has, with this server's default permissions. */
const everyone = (guildId: GuildId): APIRole =>
  newRole({
    id: everyoneRoleOf(guildId),
    name: '@everyone',
    permissions: formatPermissions(DEFAULT_EVERYONE),
  });

const firstInfo = (id: GuildId, name: string, ownerId: UserId, greetingId: ChannelId | null): GuildInfo => ({
  id,
  name,
  owner_id: ownerId,
  icon: null,
  description: null,
  home_header: null,
  splash: null,
  discovery_splash: null,
  banner: null,
  features: FEATURES,
  application_id: null,
  region: 'local',
  afk_channel_id: null,
  afk_timeout: 300,
  system_channel_id: greetingId,
  system_channel_flags: 0,
  widget_enabled: false,
  widget_channel_id: null,
  verification_level: 0,
  default_message_notifications: 0,
  mfa_level: 0,
  explicit_content_filter: 0,
  max_presences: null,
  max_members: LIMITS.members_per_guild_max,
  max_stage_video_channel_users: LIMITS.stage_video_channel_users_default,
  max_video_channel_users: LIMITS.video_channel_users_default,
  vanity_url_code: null,
  premium_tier: 0,
  premium_subscription_count: 0,
  preferred_locale: 'en-US',
  rules_channel_id: null,
  safety_alerts_channel_id: null,
  public_updates_channel_id: null,
  premium_progress_bar_enabled: false,
  nsfw: false,
  nsfw_level: 0,
});
