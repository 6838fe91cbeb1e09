import type { LinkedLobby } from '../../../engine/guild/lobbylinks.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import { type Refusal, refusal } from '../../../protocol/refusal.ts';
import type { AuthKind, OperationCall } from '../operation.ts';
import type { Services } from '../services.ts';

/**
 * Why a user may not write in a channel that is linked to a lobby: the lobby may require that authors have authorized its
 * application. Null when writing is allowed. Bots cannot authorize applications and are exempt.
 *
 * @source https://docs.discord.food/resources/lobby#lobby-flags
 */
export async function linkRefusal(
  {
    params,
    caller,
    authority,
  }: Pick<
    OperationCall<{ readonly channel_id: ChannelId }, unknown, unknown, AuthKind & 'any'>,
    'params' | 'caller' | 'authority'
  >,
  services: Pick<Services, 'channels' | 'oauth'>,
): Promise<Refusal | null> {
  if (caller.kind !== 'user') return null;
  const channel = await services.channels.call(params.channel_id, 'getChannel', {}, authority);
  // The message command itself checks whether the channel exists and the caller may write in it.
  if (!channel.ok) return null;
  const { linked_lobby: link } = channel.value as { readonly linked_lobby?: LinkedLobby };
  if (!link?.require_application_authorization) return null;
  const granted = await services.oauth.granted(caller.userId, link.application_id);
  return granted === null ? refusal('MISSING_PERMISSIONS') : null;
}
