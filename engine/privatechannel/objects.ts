import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { GroupSettings, PrivateChannel } from '../user/facts.ts';

/** A direct-message channel as one of its users sees it: the others are the recipients. */
export interface PrivateChannelObject extends Partial<GroupObject> {
  readonly id: ChannelId;
  readonly type: 1 | 3;
  readonly flags: 0;
  readonly last_message_id: string | null;
  readonly last_pin_timestamp?: string;
  readonly recipients: readonly APIUser[];
}

/** Fields that only groups have. */
interface GroupObject {
  readonly name: string | null;
  readonly icon: string | null;
  readonly owner_id: UserId;
  /** True when an application manages the group. */
  readonly managed: boolean;
  readonly application_id?: ApplicationId;
  readonly nicks: readonly { readonly id: string; readonly nick: string }[];
}

interface ChannelWithRecipients {
  readonly channel: PrivateChannel;
  readonly recipients: ReadonlyMap<UserId, APIUser>;
}

/** The channel as `viewerId` sees it. */
export function privateChannelObject(
  { channel, recipients }: ChannelWithRecipients,
  viewerId: string,
): PrivateChannelObject {
  const { id, type, last_message_id, last_pin_ms } = channel;
  return {
    id,
    type,
    flags: 0,
    last_message_id,
    ...(last_pin_ms === null ? {} : { last_pin_timestamp: isoTimestamp(last_pin_ms) }),
    recipients: [...recipients.values()].filter((user) => user.id !== viewerId),
    ...(channel.group && groupObject(channel.group)),
  };
}

const groupObject = ({ name, icon, ownerId, applicationId, nicks }: GroupSettings): GroupObject => ({
  ...{ name, icon, owner_id: ownerId, managed: applicationId !== null },
  ...(applicationId !== null && { application_id: applicationId }),
  nicks: Object.entries(nicks).map(([id, nick]) => ({ id, nick })),
});

/**
 * Sends the channel to each person in it, or to one of them. Bots receive no private channels; they receive the channel with its first
 * message.
 */
export const channelShown = (
  state: ChannelWithRecipients,
  t: 'CHANNEL_CREATE' | 'CHANNEL_UPDATE',
  onlyId?: UserId,
): readonly Dispatch[] =>
  [...state.recipients.values()]
    .filter((user) => !user.bot && (onlyId === undefined || user.id === onlyId))
    .map((user) => ({
      t,
      d: privateChannelObject(state, user.id),
      to: { kind: 'users', userIds: [user.id] },
    }));
