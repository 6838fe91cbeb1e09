import { privateChannelObject } from '../../engine/channel/private.objects.ts';
import { sharedMessage } from '../../engine/channel/wire.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { type Reply, refused } from '../../engine/kernel/outcome.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { ephemeralMessage } from './ephemeral.ts';
import type { DirectDraft, DirectMessages, Person } from './ports.ts';
import {
  areTogether,
  authorityOf,
  carriedBy,
  carrierOf,
  type DirectMessagePorts,
  inputOf,
  invite,
  type Meeting,
  mayTalk,
  mayWrite,
} from './writing.ts';

/** How far back messages are listed. @source the platform's Social SDK guide */
const HISTORY_MS = 72 * 3_600_000;

/** Messages between two people by each other's ids, over the private channel of the two. */
export const createDirectMessages = (ports: DirectMessagePorts): DirectMessages => ({
  ...reading(ports),
  ...changing(ports),
  send: (by, otherId, draft) => send({ by, otherId, draft }, ports),
});

const channelOf = (by: Person, otherId: UserId, { storage }: DirectMessagePorts) =>
  storage.privateChannels.between(by.userId, otherId);

function reading(ports: DirectMessagePorts): Pick<DirectMessages, 'list' | 'channel'> {
  const { storage } = ports;
  return {
    async list(by, otherId, limit) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const applicationId = met.value.application?.id;
      if (applicationId && !(await ports.knows(otherId, applicationId))) return no('UNKNOWN_USER');
      const channel = await channelOf(by, otherId, ports);
      if (!channel) return { ok: true, value: [] };
      const found = await storage.messages.list(channel.id, channel.id, { limit });
      const sinceMs = ports.env().nowMs - HISTORY_MS;
      const recent = found.filter(({ timestamp }) => Date.parse(timestamp) >= sinceMs);
      return { ok: true, value: recent.map((message) => shown(message, channel, met.value)) };
    },

    async channel(by, otherId) {
      const [channel, users] = await Promise.all([
        channelOf(by, otherId, ports),
        storage.users.get([by.userId, otherId]),
      ]);
      if (!channel) return no('UNKNOWN_CHANNEL');
      const recipients = new Map(users.map((user) => [user.id as UserId, user]));
      return { ok: true, value: privateChannelObject({ channel, recipients }, by.userId) };
    },
  };
}

function changing(ports: DirectMessagePorts): Pick<DirectMessages, 'edit' | 'remove' | 'moderate'> {
  const { storage, inPrivate } = ports;
  return {
    async edit(by, otherId, messageId, content) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const channel = await channelOf(by, otherId, ports);
      if (!channel) return no('UNKNOWN_MESSAGE');
      const together = await areTogether(met.value, ports);
      const edit = { messageId, edit: { content }, keep: null, attachments: [], together };
      const carrier = await carrierOf(channel.id, messageId, storage);
      const input = { ...edit, channelId: channel.id, ...carrier };
      const reply = await inPrivate(channel.id, 'updateMessage', input, authorityOf(by));
      return reply.ok ? { ok: true, value: shown(reply.value.message, channel, met.value) } : reply;
    },

    async remove(by, otherId, messageId) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const channel = await channelOf(by, otherId, ports);
      if (!channel) return no('UNKNOWN_MESSAGE');
      const input = {
        channelId: channel.id,
        messageId,
        ...(await carrierOf(channel.id, messageId, storage)),
      };
      return inPrivate(channel.id, 'deleteMessage', input, authorityOf(by));
    },

    async moderate(applicationId, [a, b], messageId, metadata) {
      const channel = await storage.privateChannels.between(a, b);
      if (!channel) return no('UNKNOWN_MESSAGE');
      const input = { channelId: channel.id, messageId, applicationId, metadata };
      return inPrivate(channel.id, 'moderateMessage', input, SYSTEM);
    },
  };
}

interface Order {
  readonly by: Person;
  readonly otherId: UserId;
  readonly draft: DirectDraft;
}

async function send({ by, otherId, draft }: Order, ports: DirectMessagePorts): Promise<Reply<object>> {
  const met = await meet(by, otherId, ports);
  if (!met.ok) return met;
  const reach = await mayWrite(met.value, draft, ports);
  if (!reach.ok) return reach;
  const carried = await carriedBy(met.value, draft, ports);
  if (!carried.ok) return carried;
  const said = mayTalk(by) ? draft : { ...draft, content: null, metadata: null };
  const { application, other } = met.value;
  if (application && (await bothProvisional(by.userId, otherId, ports)))
    return ephemeralMessage(
      { by, other, application, draft: said, carried: carried.value, reach: reach.value },
      ports,
    );
  const channel = await ports.open(by.userId, otherId, true);
  if (!channel.ok) return channel;
  const { id: channelId } = channel.value;
  const { together } = reach.value;
  const input = { ...inputOf(said, carried.value, application), channelId, together };
  const reply = await ports.inPrivate(channelId, 'createMessage', input, authorityOf(by));
  if (!reply.ok) return reply;
  const { message } = reply.value;
  if (message.activity) await invite(message, met.value, ports);
  const nonce = draft.nonce == null ? {} : { nonce: draft.nonce };
  return { ok: true, value: { ...shown(message, channel.value, met.value), ...nonce } };
}

const no = (name: Parameters<typeof refusal>[0]): Reply<never> => refused(refusal(name));

async function meet(by: Person, otherId: UserId, { storage }: DirectMessagePorts): Promise<Reply<Meeting>> {
  if (by.userId === otherId) return no('INVALID_RECIPIENTS');
  const applicationId = by.authorization?.applicationId ?? null;
  const [[other], application] = await Promise.all([
    storage.users.get([otherId]),
    applicationId && storage.applications.get(applicationId),
  ]);
  if (!other || other.bot) return no('UNKNOWN_USER');
  return { ok: true, value: { by, other, application } };
}

const bothProvisional = async (a: UserId, b: UserId, { isProvisional }: DirectMessagePorts) =>
  (await isProvisional(a)) && (await isProvisional(b));

/** A message as the one who asked sees it. */
function shown(message: StoredMessage, channel: PrivateChannel, { by, other }: Meeting): object {
  const recipientId = message.author.id === by.userId ? other.id : by.userId;
  const { id, type } = channel;
  return { ...sharedMessage(message), recipient_id: recipientId, channel: { id, type, recipients: [other] } };
}
