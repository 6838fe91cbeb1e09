import { CHANNEL } from '../../protocol/channeltypes.ts';
import { everyoneRoleOf } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import type { Guild, GuildChannel } from './guild.ts';

/** Permissions in a channel that linking it requires. */
const LINKING = P.MANAGE_CHANNELS | P.VIEW_CHANNEL | P.SEND_MESSAGES;
const READING_AND_WRITING = P.VIEW_CHANNEL | P.SEND_MESSAGES;

/** Additional fields of a channel for a game that looks for one to link its lobby to. */
interface Linkable {
  readonly is_linkable: boolean;
  /** Whether every member may read and write there, so that a linked lobby reveals nothing to its members. */
  readonly is_viewable_and_writeable_by_all_members: boolean;
}

/**
 * Whether a caller with `bits` in the channel can link it.
 *
 * @source https://docs.discord.com/developers/discord-social-sdk/development-guides/linked-channels,
 * "Channel Requirements"; https://docs.discord.food/resources/channel#channel-object
 */
export function linkable(guild: Guild, channel: GuildChannel, bits: bigint): Linkable {
  const isOpen = channel.type === CHANNEL.GUILD_TEXT && !('nsfw' in channel && channel.nsfw);
  return {
    is_linkable: isOpen && !channel.linked_lobby && (bits & LINKING) === LINKING,
    is_viewable_and_writeable_by_all_members: isForEveryone(guild, channel),
  };
}

/** True when @everyone has the bits in the channel and no overwrite denies one to anybody. */
function isForEveryone(guild: Guild, channel: GuildChannel): boolean {
  let held = BigInt(guild.roles.get(everyoneRoleOf(guild.id))?.permissions ?? '0');
  for (const { id, allow, deny } of channel.permission_overwrites ?? []) {
    if (id === guild.id) held = (held & ~BigInt(deny ?? 0)) | BigInt(allow ?? 0);
    else if ((BigInt(deny ?? 0) & READING_AND_WRITING) !== 0n) return false;
  }
  return (held & READING_AND_WRITING) === READING_AND_WRITING;
}
