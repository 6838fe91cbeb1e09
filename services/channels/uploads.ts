import type { Guilds } from '../../actors/guild/guilds.ts';
import { uploadBytesMax } from '../../engine/channel/files.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import type { PerkKeeper } from '../premium/perks.ts';

type Owner = { readonly guildId: GuildId } | { readonly private: true } | null;

interface UploadPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly channels: {
    owner(channelId: ChannelId): Owner | Promise<Owner>;
  };
  readonly premium: Pick<PerkKeeper, 'premiumTypeOf'>;
  readonly config: UploadBounds;
}

export interface UploadBounds {
  /** Everybody may send files of this size. */
  readonly upload_bytes_max: number;
  /** No file of more bytes arrives. */
  readonly request_bytes_max: number;
}

/** The largest file, in bytes, that a person may send in a guild of this premium tier; tier 0 in private channels. */
export async function personalBytesMax(
  { premium, config }: Pick<UploadPorts, 'premium' | 'config'>,
  tier: number,
  userId: UserId,
): Promise<number> {
  const raised = uploadBytesMax(tier, await premium.premiumTypeOf(userId));
  return Math.min(config.request_bytes_max, Math.max(config.upload_bytes_max, raised));
}

/** How large the files of messages may be. */
export interface Uploads {
  /**
   * Whether a file of so many bytes may be sent to the channel: the guild's premium tier and the person's premium type raise
   * the bound. `userId` is null for webhooks and applications. Reads nothing for a file that everybody may send.
   */
  fits(bytes: number, channelId: ChannelId, userId: UserId | null): Promise<boolean>;
}

export const createUploads = ({ guilds, channels, premium, config }: UploadPorts): Uploads => ({
  async fits(bytes, channelId, userId) {
    if (bytes <= config.upload_bytes_max) return true;
    const owner = await channels.owner(channelId);
    const guild =
      owner && 'guildId' in owner
        ? await guilds.call(owner.guildId, 'getGuild', { withCounts: false }, SYSTEM)
        : null;
    const tier = guild?.ok ? guild.value.premium_tier : 0;
    const premiumType = userId === null ? 0 : await premium.premiumTypeOf(userId);
    return bytes <= Math.max(config.upload_bytes_max, uploadBytesMax(tier, premiumType));
  },
});
