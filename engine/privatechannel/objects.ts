import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { isoTimestamp } from '../channel/text.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { PrivateChannel } from '../user/facts.ts';

/** A direct-message channel as one of its users sees it: the other user is the recipient. */
export interface PrivateChannelObject {
  readonly id: ChannelId;
  readonly type: 1;
  readonly flags: 0;
  readonly last_message_id: string | null;
  readonly last_pin_timestamp?: string;
  readonly recipients: readonly APIUser[];
}

interface Shown {
  readonly channel: PrivateChannel;
  readonly recipients: ReadonlyMap<UserId, APIUser>;
}

/** The channel as `viewerId` sees it. */
export function privateChannelObject({ channel, recipients }: Shown, viewerId: string): PrivateChannelObject {
  const { id, type, last_message_id, last_pin_ms } = channel;
  return {
    id,
    type,
    flags: 0,
    last_message_id,
    ...(last_pin_ms === null ? {} : { last_pin_timestamp: isoTimestamp(last_pin_ms) }),
    recipients: [...recipients.values()].filter((user) => user.id !== viewerId),
  };
}

/**
 * Sends the channel to each person in it. Bots receive no private channels; they receive the channel with its first
 * message.
 */
export const channelShown = (state: Shown, t: 'CHANNEL_CREATE' | 'CHANNEL_UPDATE'): readonly Dispatch[] =>
  [...state.recipients.values()]
    .filter((user) => !user.bot)
    .map((user) => ({
      t,
      d: privateChannelObject(state, user.id),
      to: { kind: 'users', userIds: [user.id] },
    }));
