import { sharedMessage } from '../../engine/channel/messages.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { privateChannelObject } from '../../engine/privatechannel/objects.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { sendEphemeralMessage } from './ephemeralmessages.ts';
import {
  attachedToMessage,
  bothOnline,
  type Conversation,
  carrierApplication,
  checkReach,
  commandInput,
  type DirectMessagePorts,
  mayWriteContent,
  notifyInvite,
  personAuthority,
} from './messagerules.ts';
import type { DirectDraft, DirectMessages, Person } from './ports.ts';

/**
 * How far back messages are listed.
 *
 * @source https://docs.discord.com/developers/discord-social-sdk/development-guides/sending-direct-messages,
 * "Retrieving Messages from a Specific Conversation"
 */
const HISTORY_MS = 72 * 3_600_000;

/** Messages between two users, addressed by user id instead of channel id. */
export const createDirectMessages = (ports: DirectMessagePorts): DirectMessages => ({
  ...readingOperations(ports),
  ...changingOperations(ports),
  send: (by, otherId, draft) => send({ by, otherId, draft }, ports),
});

const channelOf = (by: Person, otherId: UserId, { storage }: DirectMessagePorts) =>
  storage.privateChannels.between(by.userId, otherId);

function readingOperations(ports: DirectMessagePorts): Pick<DirectMessages, 'list' | 'channel'> {
  const { storage } = ports;
  return {
    async list(by, otherId, limit) {
      const met = await openConversation(by, otherId, ports);
      if (!met.ok) return met;
      const applicationId = met.value.application?.id;
      if (applicationId && !(await ports.hasAuthorized(otherId, applicationId)))
        return refused(refusal('UNKNOWN_USER'));
      const channel = await channelOf(by, otherId, ports);
      if (!channel) return { ok: true, value: [] };
      const found = await storage.messages.list(channel.id, channel.id, { limit });
      const sinceMs = ports.env().nowMs - HISTORY_MS;
      const recent = found.filter(({ timestamp }) => Date.parse(timestamp) >= sinceMs);
      return { ok: true, value: recent.map((message) => messageView(message, channel, met.value)) };
    },

    async channel(by, otherId) {
      const [channel, users] = await Promise.all([
        channelOf(by, otherId, ports),
        storage.users.get([by.userId, otherId]),
      ]);
      if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
      const recipients = new Map(users.map((user) => [user.id, user]));
      return { ok: true, value: privateChannelObject({ channel, recipients }, by.userId) };
    },
  };
}

function changingOperations(ports: DirectMessagePorts): Pick<DirectMessages, 'edit' | 'remove' | 'moderate'> {
  const { storage, inPrivate } = ports;
  return {
    async edit(by, otherId, messageId, content) {
      const met = await openConversation(by, otherId, ports);
      if (!met.ok) return met;
      const channel = await channelOf(by, otherId, ports);
      if (!channel) return refused(refusal('UNKNOWN_MESSAGE'));
      const together = await bothOnline(met.value, ports);
      const edit = { messageId, edit: { content }, keep: null, attachments: [], together };
      const carrier = await carrierApplication(channel.id, messageId, storage);
      const input = { ...edit, channelId: channel.id, ...carrier };
      const reply = await inPrivate(channel.id, 'updateMessage', input, personAuthority(by));
      return reply.ok ? { ok: true, value: messageView(reply.value.message, channel, met.value) } : reply;
    },

    async remove(by, otherId, messageId) {
      const met = await openConversation(by, otherId, ports);
      if (!met.ok) return met;
      const channel = await channelOf(by, otherId, ports);
      if (!channel) return refused(refusal('UNKNOWN_MESSAGE'));
      const input = {
        channelId: channel.id,
        messageId,
        ...(await carrierApplication(channel.id, messageId, storage)),
      };
      return inPrivate(channel.id, 'deleteMessage', input, personAuthority(by));
    },

    async moderate(applicationId, [a, b], messageId, metadata) {
      const channel = await storage.privateChannels.between(a, b);
      if (!channel) return refused(refusal('UNKNOWN_MESSAGE'));
      const input = { channelId: channel.id, messageId, applicationId, metadata };
      return inPrivate(channel.id, 'moderateMessage', input, SYSTEM);
    },
  };
}

interface SendOrder {
  readonly by: Person;
  readonly otherId: UserId;
  readonly draft: DirectDraft;
}

async function send({ by, otherId, draft }: SendOrder, ports: DirectMessagePorts): Promise<Reply<object>> {
  const met = await openConversation(by, otherId, ports);
  if (!met.ok) return met;
  const reach = await checkReach(met.value, draft, ports);
  if (!reach.ok) return reach;
  const carried = await attachedToMessage(met.value, draft, ports);
  if (!carried.ok) return carried;
  const said = mayWriteContent(by) ? draft : { ...draft, content: null, metadata: null };
  const { application, other } = met.value;
  if (application && (await bothProvisional(by.userId, otherId, ports)))
    return sendEphemeralMessage(
      { by, other, application, draft: said, carried: carried.value, reach: reach.value },
      ports,
    );
  const channel = await ports.open(by.userId, otherId, true);
  if (!channel.ok) return channel;
  const { id: channelId } = channel.value;
  const { together } = reach.value;
  const input = { ...commandInput(said, carried.value, application), channelId, together };
  const reply = await ports.inPrivate(channelId, 'createMessage', input, personAuthority(by));
  if (!reply.ok) return reply;
  const { message } = reply.value;
  if (message.activity) await notifyInvite(message, met.value, ports);
  const nonce = draft.nonce == null ? {} : { nonce: draft.nonce };
  return { ok: true, value: { ...messageView(message, channel.value, met.value), ...nonce } };
}

async function openConversation(
  by: Person,
  otherId: UserId,
  { storage }: DirectMessagePorts,
): Promise<Reply<Conversation>> {
  if (by.userId === otherId) return refused(refusal('INVALID_RECIPIENTS'));
  const applicationId = by.authorization?.applicationId ?? null;
  const [[other], application] = await Promise.all([
    storage.users.get([otherId]),
    applicationId && storage.applications.get(applicationId),
  ]);
  if (!other || other.bot) return refused(refusal('UNKNOWN_USER'));
  return { ok: true, value: { by, other, application } };
}

const bothProvisional = async (a: UserId, b: UserId, { isProvisional }: DirectMessagePorts) =>
  (await isProvisional(a)) && (await isProvisional(b));

/** The wire object of a message for one of the two users. */
function messageView(message: StoredMessage, channel: PrivateChannel, { by, other }: Conversation): object {
  const recipientId = message.author.id === by.userId ? other.id : by.userId;
  const { id, type } = channel;
  return { ...sharedMessage(message), recipient_id: recipientId, channel: { id, type, recipients: [other] } };
}
