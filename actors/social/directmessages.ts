import { SYSTEM } from '../../engine/authority.ts';
import { type PrivateChannelState, privateChannelObject } from '../../engine/channel/private.ts';
import { sharedMessage } from '../../engine/channel/wire.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type Reply, refused } from '../../engine/outcome.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { ephemeralMessage } from './ephemeral.ts';
import type { DirectMessages, Person } from './ports.ts';
import {
  authorityOf,
  carriedBy,
  type DirectMessagePorts,
  gameOf,
  inputOf,
  invite,
  type Meeting,
  mayNotWrite,
  mayTalk,
} from './writing.ts';

/** How far back messages are listed. @source the platform's Social SDK guide */
const HISTORY_MS = 72 * 3_600_000;

/** Messages between two people by each other's ids, over the private channel of the two. */
export function createDirectMessages(ports: DirectMessagePorts): DirectMessages {
  const { storage, inPrivate } = ports;
  const between = (by: Person, otherId: UserId) => storage.privateChannels.between(by.userId, otherId);

  return {
    async list(by, otherId, limit) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const applicationId = met.value.application?.id;
      if (applicationId && !(await ports.knows(otherId, applicationId))) return no('UNKNOWN_USER');
      const channel = await between(by, otherId);
      if (!channel) return { ok: true, value: [] };
      const found = await storage.messages.list(channel.id, channel.id, { limit });
      const sinceMs = ports.env().nowMs - HISTORY_MS;
      const recent = found.filter(({ timestamp }) => Date.parse(timestamp) >= sinceMs);
      return { ok: true, value: recent.map((message) => shown(message, channel, met.value)) };
    },

    async send(by, otherId, draft, open) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const bad = await mayNotWrite(met.value, draft, ports);
      if (bad) return refused(bad);
      const carried = await carriedBy(met.value, draft, ports);
      if (!carried.ok) return carried;
      const said = mayTalk(by) ? draft : { ...draft, content: null, metadata: null };
      const { application } = met.value;
      const passes = application && (await bothProvisional(by.userId, otherId, ports));
      if (passes) {
        const { other } = met.value;
        return ephemeralMessage({ by, other, application, draft: said, carried: carried.value }, ports);
      }
      const channel = await open(by.userId, otherId);
      if (!channel.ok) return channel;
      const input = { ...inputOf(said, carried.value, application), channelId: channel.value.id };
      const reply = await inPrivate(channel.value.id, 'createMessage', input, authorityOf(by));
      if (!reply.ok) return reply;
      const { message } = reply.value;
      if (message.activity) await invite(message, met.value, ports);
      const nonce = draft.nonce == null ? {} : { nonce: draft.nonce };
      return { ok: true, value: { ...shown(message, channel.value, met.value), ...nonce } };
    },

    async edit(by, otherId, messageId, content) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const channel = await between(by, otherId);
      if (!channel) return no('UNKNOWN_MESSAGE');
      const { game } = gameOf(met.value.application);
      const input = {
        channelId: channel.id,
        messageId,
        edit: { content },
        keep: null,
        attachments: [],
        ...game,
      };
      const reply = await inPrivate(channel.id, 'updateMessage', input, authorityOf(by));
      return reply.ok ? { ok: true, value: shown(reply.value.message, channel, met.value) } : reply;
    },

    async remove(by, otherId, messageId) {
      const met = await meet(by, otherId, ports);
      if (!met.ok) return met;
      const channel = await between(by, otherId);
      if (!channel) return no('UNKNOWN_MESSAGE');
      const { game } = gameOf(met.value.application);
      const input = { channelId: channel.id, messageId, ...game };
      return inPrivate(channel.id, 'deleteMessage', input, authorityOf(by));
    },

    async channel(by, otherId) {
      const [channel, users] = await Promise.all([
        between(by, otherId),
        storage.users.get([by.userId, otherId]),
      ]);
      if (!channel) return no('UNKNOWN_CHANNEL');
      const recipients = new Map(users.map((user) => [user.id as UserId, user]));
      const state = { channel, recipients, messages: new Map(), nonces: new Map(), call: null };
      return { ok: true, value: privateChannelObject(state satisfies PrivateChannelState, by.userId) };
    },

    async moderate(applicationId, [a, b], messageId, metadata) {
      const channel = await storage.privateChannels.between(a, b);
      if (!channel) return no('UNKNOWN_MESSAGE');
      const input = { channelId: channel.id, messageId, applicationId, metadata };
      return inPrivate(channel.id, 'moderateMessage', input, SYSTEM);
    },
  };
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
  const recipient_id = message.author.id === by.userId ? other.id : by.userId;
  const { id, type } = channel;
  return { ...sharedMessage(message), recipient_id, channel: { id, type, recipients: [other] } };
}
