import type { MessagePage } from '../../../engine/channel/recent.ts';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import type { Viewing } from '../../../services/channels/messageviews.ts';
import type { Caller } from '../operation.ts';
import type { Services } from '../services.ts';

interface History extends Viewing {
  readonly canReadHistory: boolean;
  readonly isAgeRestricted?: boolean;
  /** The page that was asked for, if it is in memory. */
  readonly messages?: readonly StoredMessage[] | null;
}

/**
 * Checks that the caller may read a channel's history; every read of stored messages calls this first.
 *
 * @param page Answered as well if it is in memory.
 */
export async function viewing(
  call: {
    readonly params: { readonly channel_id: ChannelId };
    readonly caller: Caller;
    readonly authority: Authority;
  },
  services: Pick<Services, 'channels'>,
  page?: MessagePage,
): Promise<Reply<History>> {
  const channelId = call.params.channel_id;
  const input = page ? { page } : {};
  const reply = await services.channels.call(channelId, 'authorizeHistory', input, call.authority);
  return reply.ok ? { ok: true, value: { caller: call.caller, channelId, ...reply.value } } : reply;
}
