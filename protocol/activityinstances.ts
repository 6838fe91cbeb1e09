import { type ChannelId, type GuildId, isChannelId, isGuildId, isSnowflake } from './ids.ts';

/**
 * Where an activity runs: a channel of a guild, or a private channel.
 *
 * @source https://docs.discord.com/developers/resources/application#get-application-activity-instance-activity-location-object
 */
export interface ActivityLocation {
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
}

/**
 * How often a client of a participant renews, and how long one that does not is kept: browsers run the timers of a hidden page once a minute.
 *
 * @source https://developer.chrome.com/blog/timer-throttling-in-chrome-88
 */
export const ACTIVITY_HEARTBEAT_MS = 20_000;
export const ACTIVITY_LEASE_MS = 90_000;
/** Connections of all participants of an instance, and of one user. */
export const ACTIVITY_CONNECTIONS_MAX = 500;
export const ACTIVITY_CONNECTIONS_PER_USER_MAX = 5;
/** Activities that run at a location at the same time. */
export const ACTIVITIES_PER_LOCATION_MAX = 10;

const GUILD_CHANNEL = 'gc';
const PRIVATE_CHANNEL = 'pc';

const locationKind = ({ guildId }: ActivityLocation): string =>
  guildId === null ? PRIVATE_CHANNEL : GUILD_CHANNEL;

/** `gc-<guild>-<channel>` or `pc-<channel>`. */
const locationId = (location: ActivityLocation): string =>
  [locationKind(location), ...(location.guildId === null ? [] : [location.guildId]), location.channelId].join(
    '-',
  );

export const instanceIdOf = (launchId: string, location: ActivityLocation): string =>
  `i-${launchId}-${locationId(location)}`;

/** The launch and the place that an instance's id names; null for any other text. */
export function readInstanceId(
  text: string,
): { readonly launchId: string; readonly location: ActivityLocation } | null {
  const [mark, launchId, kind, ...ids] = text.split('-');
  const [guildId, channelId] = kind === GUILD_CHANNEL ? ids : [null, ...ids];
  if (mark !== 'i' || (kind !== GUILD_CHANNEL && kind !== PRIVATE_CHANNEL)) return null;
  if (!isSnowflake(launchId) || !isChannelId(channelId) || (guildId !== null && !isGuildId(guildId)))
    return null;
  const location = { guildId, channelId };
  // One spelling only: nothing may follow.
  return instanceIdOf(launchId, location) === text ? { launchId, location } : null;
}

/** `location` on the wire. */
export const locationObject = (location: ActivityLocation): object => ({
  id: locationId(location),
  kind: locationKind(location),
  channel_id: location.channelId,
  ...(location.guildId !== null && { guild_id: location.guildId }),
});
