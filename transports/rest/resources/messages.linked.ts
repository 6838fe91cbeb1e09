import type { LinkedLobby } from '../../../engine/guild/lobbylinks.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import { type Refusal, refusal } from '../../../protocol/refusal.ts';
import type { AuthKind, Call } from '../operation.ts';
import type { Services } from '../services.ts';

/**
 * Why a person may not write in a channel that is linked to a lobby: the lobby asks that whoever writes there has let
 * its application act. Null: nothing is in the way. Of bots, who let nobody act, it is not asked.
 *
 * @source the user documentation's lobby flag REQUIRE_APPLICATION_AUTHORIZATION
 */
export async function linkRefusal(
  {
    params,
    caller,
    authority,
  }: Pick<
    Call<{ readonly channel_id: ChannelId }, unknown, unknown, AuthKind & 'any'>,
    'params' | 'caller' | 'authority'
  >,
  services: Pick<Services, 'channels' | 'oauth'>,
): Promise<Refusal | null> {
  if (caller.kind !== 'user') return null;
  const channel = await services.channels.call(params.channel_id, 'getChannel', {}, authority);
  // Whether the channel is there, and the caller's to write in, is for the message to find out.
  if (!channel.ok) return null;
  const { linked_lobby: link } = channel.value as { readonly linked_lobby?: LinkedLobby };
  if (!link?.require_application_authorization) return null;
  const granted = await services.oauth.granted(caller.userId, link.application_id);
  return granted === null ? refusal('MISSING_PERMISSIONS') : null;
}
