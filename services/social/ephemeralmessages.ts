import { webhookEvent } from '../../engine/application/webhookevents.ts';
import type { Carried } from '../../engine/channel/draft.ts';
import { sharedMessage } from '../../engine/channel/messages.ts';
import { applicationSessions } from '../../engine/fanout/direct.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { privateRules, privateState } from '../../engine/privatechannel/rules.ts';
import type { Application, PrivateChannel } from '../../engine/user/facts.ts';
import { GAME_CHANNEL } from '../../protocol/channeltypes.ts';
import { type ChannelId, snowflakeOf, userPair } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import { commandInput, type DirectMessagePorts, notifyInvite, personAuthority } from './messagerules.ts';
import type { DirectDraft, Person } from './ports.ts';
import type { Reach } from './reach.ts';

interface EphemeralMessage {
  readonly by: Person;
  readonly other: APIUser;
  readonly application: Application;
  readonly draft: DirectDraft;
  readonly carried: Carried;
  readonly reach: Reach & { readonly together: boolean };
}

/**
 * Sends a message between two provisional accounts. It is delivered to their sessions of the game and never stored;
 * each of them sees the other's user id as channel id.
 */
export async function sendEphemeralMessage(
  { by, other, application, draft, carried, reach }: EphemeralMessage,
  ports: DirectMessagePorts,
): Promise<Reply<object>> {
  const otherId = other.id;
  if (!(await ports.notifier.plays(otherId, application.id)))
    return refused(refusal('CANNOT_SEND_TO_THIS_USER'));
  const [author] = await ports.storage.users.get([by.userId]);
  if (!author) return refused(refusal('UNKNOWN_USER'));
  const env = ports.env();
  // Applies the rules of private channels to a temporary channel.
  const recipientIds = userPair(by.userId, otherId);
  const id: ChannelId = snowflakeOf(BigInt(otherId));
  const channel: PrivateChannel = { id, type: 1, recipientIds, last_message_id: null, last_pin_ms: null };
  const state = privateState(channel, [author, other], reach.relations);
  const input = { ...commandInput(draft, carried, null), channelId: id, together: reach.together };
  const known = { ...env, acquaintance: reach.known };
  const outcome = privateRules.decide(state, 'createMessage', input, personAuthority(by), known);
  if (!outcome.ok) return outcome;
  const { message } = outcome.value;
  const shown = (peer: APIUser) => ({
    ...sharedMessage(message),
    channel_id: peer.id,
    channel: { id: peer.id, type: GAME_CHANNEL.EPHEMERAL_DM, recipients: [peer] },
  });
  const events = webhookEvent(application, 'GAME_DIRECT_MESSAGE_CREATE', shown(other), env);
  if (events.length > 0) await ports.commit(application.id, events);
  for (const [readerId, peer] of [
    [otherId, author],
    [by.userId, other],
  ] as const) {
    const d = { ...sharedMessage(message), channel_id: peer.id, channel_type: GAME_CHANNEL.EPHEMERAL_DM };
    ports.notifier.notify(readerId, 'MESSAGE_CREATE', d, applicationSessions(application.id));
  }
  if (message.activity) {
    const { type, party_id: partyId = null } = message.activity;
    ports.unstoredInvites.add(message.id, { from: by.userId, to: otherId, type, partyId, atMs: env.nowMs });
    await notifyInvite(message, { other }, ports, by.userId);
  }
  return { ok: true, value: { ...shown(other), recipient_id: other.id } };
}
