import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { sharedMessage } from '../channel/messages.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { type Reply, refused } from '../kernel/aggregate.ts';
import { privateChannelObject } from '../privatechannel/objects.ts';
import type { PrivateChannelState } from '../privatechannel/rules.ts';
import type { Described, InvocationQuery } from './place.ts';

/** @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object */
const APP_PERMISSIONS = P.ATTACH_FILES | P.EMBED_LINKS | P.MENTION_EVERYONE;

/**
 * Describes an invocation in a private channel, with what an application may know of it.
 *
 * @param message The message that `asked` names; null for an unknown one.
 * @param others The users that `asked` wants, as far as they exist.
 * @returns 10003 to everyone but its users, 10008 for an unknown message.
 */
export function describePrivately(
  state: PrivateChannelState,
  asked: InvocationQuery,
  message: StoredMessage | null,
  others: readonly APIUser[],
): Reply<Described> {
  const user = state.recipients.get(asked.userId);
  if (!user) return refused(refusal('UNKNOWN_CHANNEL'));
  if (asked.message && message?.channel_id !== state.channel.id) return refused(refusal('UNKNOWN_MESSAGE'));
  const isBotHere = asked.botId !== null && state.recipients.has(asked.botId);
  return {
    ok: true,
    value: {
      guild: null,
      channel: privateChannelObject(state, user.id),
      type: state.channel.type,
      bearerId: state.channel.id,
      isNsfw: false,
      isLocked: false,
      user,
      member: null,
      partialMember: null,
      roles: [],
      permissions: '0',
      appPermissions: String(isBotHere ? APP_PERMISSIONS | P.USE_EXTERNAL_EMOJIS : APP_PERMISSIONS),
      isBotHere,
      message,
      resolved: {
        ...(others.length > 0 && { users: Object.fromEntries(others.map((one) => [one.id, one])) }),
        ...(asked.message?.isTarget && message && { messages: { [message.id]: sharedMessage(message) } }),
      },
      premiumTier: 0,
    },
  };
}
