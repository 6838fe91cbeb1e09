import type { ChannelId, ScheduledEventId } from '../../protocol/ids.ts';
import type { APIRole } from '../../protocol/objects.ts';
import { eventPayload, isFinished } from '../scheduledevent/event.ts';
import type { Guild, Invite } from './guild.ts';

/** An invite as replies show it: the spec's GuildInviteResponse. */
export type InviteObject = { readonly type: 0; readonly code: string } & Readonly<Record<string, unknown>>;

/**
 * An invite with its guild and channel. `metadata` adds uses and limits, which not everyone may see; `counts` adds the
 * numbers of members and of online members.
 */
export function inviteObject(
  guild: Guild,
  invite: Invite,
  shows: { readonly metadata: boolean; readonly counts: boolean },
): InviteObject {
  const channel = guild.channels.get(invite.channel_id);
  const roles = (invite.role_ids ?? []).flatMap((id) => guild.roles.get(id) ?? []);
  return {
    type: 0,
    code: invite.code,
    ...(invite.inviter ? { inviter: invite.inviter } : {}),
    expires_at: invite.expires_at,
    guild: guildOf(guild),
    guild_id: guild.id,
    channel: { id: invite.channel_id, type: channel?.type ?? 0, name: channel?.name ?? null },
    ...(roles.length > 0 ? { roles: roles.map(roleOf) } : {}),
    ...targetOf(invite),
    ...(shows.metadata ? metadataOf(invite) : {}),
    ...(shows.counts
      ? { approximate_member_count: guild.memberCount, approximate_presence_count: guild.presences.size }
      : {}),
  };
}

/**
 * A scheduled event as an invite shows it to anyone: one outside of channels, or in the channel that the invite leads to.
 * Nothing for any other, whose channel may be hidden.
 */
export function invitedEvent(
  guild: Guild,
  channelId: ChannelId,
  eventId: ScheduledEventId,
): { readonly guild_scheduled_event?: object } {
  const event = guild.scheduledEvents.byId.get(eventId);
  if (!event || isFinished(event)) return {};
  if (event.channel_id !== null && event.channel_id !== channelId) return {};
  return {
    guild_scheduled_event: {
      ...eventPayload(event),
      user_count: guild.scheduledEvents.counts.get(eventId) ?? 0,
    },
  };
}

const targetOf = ({ target_type, target_user, target_application }: Invite) => ({
  ...(target_type && { target_type }),
  ...(target_user && { target_user }),
  ...(target_application && { target_application }),
});

const metadataOf = (invite: Invite) => ({
  uses: invite.uses,
  max_uses: invite.max_uses,
  max_age: invite.max_age,
  temporary: invite.temporary,
  created_at: invite.created_at,
});

function guildOf({ info }: Guild) {
  const { id, name, splash, banner, description, icon, features, vanity_url_code, nsfw, nsfw_level } = info;
  const { verification_level, premium_subscription_count } = info;
  return {
    id,
    name,
    splash,
    banner,
    description,
    icon,
    features,
    verification_level,
    vanity_url_code,
    nsfw_level,
    nsfw,
    premium_subscription_count,
  };
}

const roleOf = ({ id, name, position, color, colors, icon, unicode_emoji }: APIRole) => ({
  id,
  name,
  position,
  color,
  colors,
  icon: icon ?? null,
  unicode_emoji: unicode_emoji ?? null,
});
