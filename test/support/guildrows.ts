/** The JSON of rows of a small guild, as this server writes it. */
const TIME = '2026-01-01T00:00:00.000000+00:00';

export const guildData = (id: string, ownerId: string) => ({
  ...{
    id,
    name: 'Harbour',
    owner_id: ownerId,
    icon: null,
    description: null,
    home_header: null,
    splash: null,
  },
  ...{ discovery_splash: null, features: [], banner: null, application_id: null, region: 'local' },
  ...{ afk_channel_id: null, afk_timeout: 300, system_channel_id: null, system_channel_flags: 0 },
  ...{ widget_enabled: false, widget_channel_id: null, verification_level: 0, mfa_level: 0 },
  ...{
    default_message_notifications: 0,
    explicit_content_filter: 0,
    max_presences: null,
    max_members: 500_000,
  },
  ...{
    max_stage_video_channel_users: 50,
    max_video_channel_users: 25,
    vanity_url_code: null,
    premium_tier: 0,
  },
  ...{ premium_subscription_count: 0, preferred_locale: 'en-US', rules_channel_id: null, nsfw: false },
  ...{ safety_alerts_channel_id: null, public_updates_channel_id: null, nsfw_level: 0 },
  premium_progress_bar_enabled: false,
});

export const roleData = (id: string) => ({
  ...{
    id,
    name: '@everyone',
    permissions: '0',
    position: 0,
    color: 0,
    hoist: false,
    managed: false,
    flags: 0,
  },
  ...{ mentionable: false, icon: null, unicode_emoji: null },
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
});

export const channelData = (id: string, guildId: string) => ({
  ...{ id, guild_id: guildId, type: 0, name: 'general', position: 0, flags: 0, parent_id: null },
  permission_overwrites: [],
});

export const memberData = {
  ...{
    joined_at: TIME,
    nick: null,
    avatar: null,
    banner: null,
    communication_disabled_until: null,
    flags: 0,
  },
  ...{ pending: false, premium_since: null, mute: false, deaf: false },
};

/** A message with an attachment, whose id is 77. */
export function messageData(id: string, channelId: string, authorId: string, content: string) {
  const url = `http://files.example/attachments/${channelId}/77/a.txt`;
  return {
    ...{ id, channel_id: channelId, type: 0, content, timestamp: TIME, edited_timestamp: null, flags: 0 },
    ...{ tts: false, mention_everyone: false, mention_roles: [], mentions: [], embeds: [], components: [] },
    author: { id: authorId, username: 'ann' },
    attachments: [{ id: '77', filename: 'a.txt', size: 5, url, proxy_url: url }],
  };
}
