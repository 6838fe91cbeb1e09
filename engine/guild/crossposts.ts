import { type APIMessageReference, ChannelType, MessageFlags, MessageType } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { TEXT_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, GuildId, MessageId, WebhookId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { newMessage } from '../channel/messages.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { cut } from '../webhook/report.ts';
import { authorOf, WEBHOOK, type Webhook } from '../webhook/webhook.ts';
import type { CrosspostFacts, GuildFact } from './facts.ts';
import type { Guild, StoredMessage } from './guild.ts';
import type { GuildConsequence, GuildTopic } from './topic.ts';
import { fullRefusal, noted } from './webhooks.ts';

/** The source guild and channel of a channel follower. */
type Followed = Required<Pick<Webhook, 'source_guild' | 'source_channel'>>;

export interface SyncCrosspost {
  readonly webhookId: WebhookId;
  readonly sourceId: MessageId;
  /** The published message as it is now, and its guild; null when it was deleted. */
  readonly source: { readonly message: StoredMessage; readonly guildId: GuildId } | null;
  /** Whether to write a copy that does not exist. */
  readonly creates: boolean;
}

type CrosspostCommands = {
  /** The names of a channel that can be followed. */
  describeFollowed: { input: { readonly channelId: ChannelId }; value: Followed };
  /** Makes a channel of this guild follow another. A channel that follows it already keeps its webhook. */
  followChannel: {
    input: { readonly channelId: ChannelId; readonly id: WebhookId; readonly followed: Followed };
    value: Webhook;
  };
  /** The server itself asks each follower to write, change or blank its copy of a published message. */
  syncCrosspost: { input: SyncCrosspost; value: null };
};

/** Names a copy in the window. */
export const copyKey = (sourceId: MessageId, webhookId: WebhookId): string => `${sourceId}:${webhookId}`;

function needsCopy({ sourceId, webhookId }: SyncCrosspost, guild: Guild): Needs {
  const copyId = guild.copies.get(copyKey(sourceId, webhookId));
  const channelId = guild.webhooks?.get(webhookId)?.channel_id;
  const known = copyId && { messages: [{ channelId: copyId.channelId, id: copyId.messageId }] };
  return { webhooks: true, ...(channelId ? { copies: [{ sourceId, webhookId }] } : {}), ...known };
}

/** Publishing messages, and following channels that publish. */
export const crossposts: GuildTopic<CrosspostCommands, keyof CrosspostFacts> = {
  commands: {
    describeFollowed: {
      decide: (guild, { channelId }) => {
        const channel = guild.channels.get(channelId);
        if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
        if (channel.type !== ChannelType.GuildAnnouncement)
          return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
        const { id, name, icon } = guild.info;
        return accepted({
          source_guild: { id, name, icon },
          source_channel: { id: channelId, name: channel.name },
        });
      },
    },
    followChannel: { needs: () => ({ webhooks: true }), decide: follow },
    syncCrosspost: { background: true, needs: needsCopy, decide: sync },
  },
  facts: {
    crosspostQueued: { apply: () => {}, dispatches: () => [] },
    crosspostCopied: {
      apply: (guild, { sourceId, webhookId, channelId, messageId }) => {
        guild.copies.set(copyKey(sourceId, webhookId), { channelId, messageId });
      },
      dispatches: () => [],
    },
  },
};

function follow(
  guild: Guild,
  { channelId, id, followed }: CrosspostCommands['followChannel']['input'],
  by: By,
  env: Env,
): Outcome<Webhook, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (!TEXT_LIKE.has(channel.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const user = guild.members.get(by.userId)?.user;
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const { source_guild, source_channel } = followed;
  for (const one of guild.webhooks?.values() ?? [])
    if (one.channel_id === channelId && one.source_channel?.id === source_channel.id) return accepted(one);
  const no = fullRefusal(guild, channelId);
  if (no) return refused(no);
  const name = cut(`${source_guild.name} #${source_channel.name}`, LIMITS.webhook_name_chars_max);
  const webhook: Webhook = {
    id,
    type: WEBHOOK.CHANNEL_FOLLOWER,
    guild_id: guild.id,
    channel_id: channelId,
    name,
    avatar: null,
    application_id: null,
    user,
    ...followed,
  };
  const message = newMessage(env, {
    channel_id: channelId,
    type: MessageType.ChannelFollowAdd,
    author: user,
    content: name,
    message_reference: { type: 0, channel_id: source_channel.id, guild_id: source_guild.id },
    webhook_id: id,
  });
  return accepted(webhook, [
    { type: 'webhookCreated', webhook },
    noted(AUDIT.WEBHOOK_CREATE, null, webhook, by, env),
    { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false },
  ]);
}

/** Flags that a copy takes over. */
const COPIED = MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications | MessageFlags.IsComponentsV2;
/** Content of the copy after its original was deleted. */
const DELETED = '[Original Message Deleted]';

/** Content of a copy. It notifies no user, and refers to the files of the original. */
const shownOf = ({ content, embeds, attachments, components, flags }: StoredMessage) => ({
  content,
  embeds,
  attachments,
  components: components ?? [],
  flags: ((flags ?? 0) & COPIED) | MessageFlags.IsCrosspost,
});
const GONE: number = MessageFlags.IsCrosspost | MessageFlags.SourceMessageDeleted;

/**
 * Brings a follower's copy up to date. Sent again it changes nothing more, so that the one who publishes may repeat it
 * after a crash.
 */
function sync(guild: Guild, input: SyncCrosspost, _by: By, env: Env): Outcome<null, GuildFact> {
  const { webhookId, sourceId, source, creates } = input;
  const webhook = guild.webhooks?.get(webhookId);
  if (!webhook) return accepted(null);
  const copied = guild.copies.get(copyKey(sourceId, webhookId));
  if (!copied) return source && creates ? write(webhook, sourceId, source, env) : accepted(null);
  const copy = guild.messages.get(copied.messageId);
  if (!copy || !guild.channels.has(copied.channelId)) return accepted(null);
  if (copy.flags === GONE) return accepted(null);
  const shown = source
    ? shownOf(source.message)
    : { content: DELETED, embeds: [], attachments: [], components: [], flags: GONE };
  const edited = source?.message.edited_timestamp ?? isoTimestamp(env.nowMs);
  if (source && copy.edited_timestamp === source.message.edited_timestamp && copy.flags === shown.flags)
    return accepted(null);
  return accepted(null, [
    { type: 'messageUpdated', message: { ...copy, ...shown, edited_timestamp: edited } },
  ]);
}

function write(
  webhook: Webhook,
  sourceId: MessageId,
  { message: source, guildId }: NonNullable<SyncCrosspost['source']>,
  env: Env,
): Outcome<null, GuildFact> {
  const reference: APIMessageReference = {
    type: 0,
    channel_id: source.channel_id,
    message_id: sourceId,
    guild_id: guildId,
  };
  const message = newMessage(env, {
    channel_id: webhook.channel_id,
    type: MessageType.Default,
    author: authorOf(webhook),
    webhook_id: webhook.id,
    message_reference: reference,
    ...shownOf(source),
    edited_timestamp: source.edited_timestamp,
  });
  const { channel_id: channelId, id: messageId } = message;
  return accepted(null, [
    { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false },
    { type: 'crosspostCopied', sourceId, webhookId: webhook.id, channelId, messageId },
  ]);
}

const isPublished = (message: StoredMessage | null | undefined): boolean =>
  ((message?.flags ?? 0) & MessageFlags.Crossposted) !== 0;

/** Queues the updates of followers: a message is published, or a published message changes or is deleted. */
export const crosspostNews: GuildConsequence = {
  causes: new Set(['messageUpdated', 'messageDeleted', 'messagesBulkDeleted']),
  add: (guild, facts, _authority, env) => withUpdates(guild, facts, env),
};

function withUpdates(guild: Guild, facts: readonly GuildFact[], env: Env): readonly GuildFact[] {
  const queued: GuildFact[] = [];
  const queue = (channelId: ChannelId, messageId: MessageId, creates: boolean) =>
    queued.push({ type: 'crosspostQueued', id: env.nextId(), channelId, messageId, creates });
  for (const fact of facts) {
    if (fact.type === 'messageUpdated' && isPublished(fact.message)) {
      const { channel_id: channelId, id } = fact.message;
      queue(channelId, id, !isPublished(guild.messages.get(id)));
    } else if (fact.type === 'messageDeleted' && isPublished(guild.messages.get(fact.messageId)))
      queue(fact.channelId, fact.messageId, false);
    else if (fact.type === 'messagesBulkDeleted')
      for (const id of fact.messageIds)
        if (isPublished(guild.messages.get(id))) queue(fact.channelId, id, false);
  }
  return queued.length === 0 ? facts : [...facts, ...queued];
}
