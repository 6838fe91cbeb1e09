import type { ChannelId } from '../../protocol/ids.ts';
import { deletedPayload, pinsPayload, referencedOf, sharedMessage, withReferenced } from '../channel/wire.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { channelIn } from '../permissions/channelbyid.ts';
import type { MessageFacts } from './facts.ts';
import type { Guild, Member, StoredMessage } from './guild.ts';

type MessageDispatches = {
  readonly [N in keyof MessageFacts]: (guild: Guild, fact: MessageFacts[N]) => readonly Dispatch[];
};

/** A member without its user, which the payload names beside it. */
function partOf({ user: _user, ...member }: Member): Omit<Member, 'user'> {
  return member;
}

/**
 * A message as the gateway sends it: the wire's object, with the data that clients need to show it in the guild.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#message-create-message-create-extra-fields
 */
function guildMessage(guild: Guild, message: StoredMessage, referenced: StoredMessage | null | undefined) {
  const member = guild.members.get(message.author.id);
  const mentions = message.mentions.map((user) => {
    const mentioned = guild.members.get(user.id);
    return mentioned ? { ...user, member: partOf(mentioned) } : user;
  });
  const channel = channelIn(guild, message.channel_id);
  return {
    ...sharedMessage(message),
    ...withReferenced(message, referenced),
    mentions,
    guild_id: guild.id,
    ...(member && !message.webhook_id ? { member: partOf(member) } : {}),
    ...(channel ? { channel_type: channel.type } : {}),
  };
}

function updated(guild: Guild, message: StoredMessage): Dispatch {
  // An edit never speaks aloud. @source https://docs.discord.com/developers/events/gateway-events#message-update
  const d = { ...guildMessage(guild, message, referencedOf(guild, message)), tts: false };
  return { t: 'MESSAGE_UPDATE', d, to: { kind: 'channel', channelId: message.channel_id } };
}

function pinsUpdated(guild: Guild, channelId: ChannelId, lastPinMs: number | null): Dispatch {
  const d = pinsPayload(channelId, lastPinMs, guild.id);
  return { t: 'CHANNEL_PINS_UPDATE', d, to: { kind: 'channel', channelId } };
}

/** The current message, if the window holds it. */
function restated(guild: Guild, messageId: StoredMessage['id']): readonly Dispatch[] {
  const message = guild.messages.get(messageId);
  return message ? [updated(guild, message)] : [];
}

export const messageDispatches: MessageDispatches = {
  messageCreated: (guild, { message, nonce, referenced }) => {
    const d = {
      ...guildMessage(guild, message, referenced),
      ...(nonce === null ? {} : { nonce }),
    };
    return [{ t: 'MESSAGE_CREATE', d, to: { kind: 'channel', channelId: message.channel_id } }];
  },
  messageUpdated: (guild, { message }) => [updated(guild, message)],
  messageDeleted: (guild, fact) => [
    {
      t: 'MESSAGE_DELETE',
      d: deletedPayload(fact, guild.id),
      to: { kind: 'channel', channelId: fact.channelId },
    },
  ],
  messagesBulkDeleted: (guild, { channelId, messageIds }) => [
    {
      t: 'MESSAGE_DELETE_BULK',
      d: { ids: messageIds, channel_id: channelId, guild_id: guild.id },
      to: { kind: 'channel', channelId },
    },
  ],
  messagePinned: (guild, { channelId, messageId, pinnedMs }) => [
    pinsUpdated(guild, channelId, pinnedMs),
    ...restated(guild, messageId),
  ],
  messageUnpinned: (guild, { channelId, messageId, lastPinMs }) => [
    pinsUpdated(guild, channelId, lastPinMs),
    ...restated(guild, messageId),
  ],
};
