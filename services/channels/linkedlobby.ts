import { linkedLobbyOf } from '../../engine/guild/lobbylinks.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { OAuth } from '../oauth/ports.ts';

interface LinkedLobbyPorts {
  readonly channels: {
    call(
      channelId: ChannelId,
      type: 'getChannel',
      input: object,
      authority: Authority,
    ): Promise<Reply<object>>;
  };
  readonly oauth: Pick<OAuth, 'granted'>;
}

/**
 * Why an author may not write in a channel that is linked to a lobby: the lobby may require that authors have authorized its
 * application. Null when writing is allowed. Bots cannot authorize applications and are exempt.
 *
 * @source https://docs.discord.food/resources/lobby#lobby-flags
 */
export type LinkRefusal = (channelId: ChannelId, authority: Authority) => Promise<Refusal | null>;

export const createLinkRefusal =
  ({ channels, oauth }: LinkedLobbyPorts): LinkRefusal =>
  async (channelId, authority) => {
    const { bot, userId } = authority.by;
    if (bot) return null;
    const channel = await channels.call(channelId, 'getChannel', {}, authority);
    // The message command itself checks whether the channel exists and the author may write in it.
    if (!channel.ok) return null;
    const link = linkedLobbyOf(channel.value);
    if (!link?.require_application_authorization) return null;
    const granted = await oauth.granted(userId, link.application_id);
    return granted === null ? refusal('MISSING_PERMISSIONS') : null;
  };
