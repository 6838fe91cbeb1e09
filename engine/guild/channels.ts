import type { APIOverwrite } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL, CONVERTIBLE } from '../../protocol/channeltypes.ts';
import { type ChannelId, compareIds, isRoleId, isUserId, type OverwriteId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { bitsIn, bitsOf } from './authorize.ts';
import { type ChannelMove, moveChannels, nextPosition, parentRefusal } from './channels.moves.ts';
import {
  changedBits,
  type OverwriteDraft,
  overwriteEntries,
  overwritesOf,
  overwritesRefusal,
  readOverwrite,
  readOverwrites,
  sameOverwrites,
} from './channels.overwrites.ts';
import { type ChannelDraft, mayHaveType, shapedFields } from './channels.shapes.ts';
import type { ChannelFacts, GuildFact } from './facts.ts';
import { channelFrom } from './founding.parts.ts';
import type { Guild, GuildChannel, GuildInfo } from './guild.ts';
import { linkable } from './linkable.ts';
import { shownThread } from './threads.state.ts';
import { deleteThread, type ThreadChange, updateThread } from './threads.update.ts';
import type { GuildTopic } from './topic.ts';
import { leadsTo, needsVanity, withVanity } from './vanity.ts';
import { dispatchesOf, type Sight, sightOf, visibilityChanges } from './visibility.ts';
import { voiceEnds } from './voice.states.ts';

export type { ChannelDraft, ChannelMove, OverwriteDraft };

type ChannelCommands = {
  /** `withLinking` adds which of them a lobby can be linked to. */
  listChannels: { input: { readonly withLinking?: boolean }; value: GuildChannel[] };
  getChannel: { input: { readonly channelId: ChannelId }; value: GuildChannel };
  createChannel: { input: { readonly draft: ChannelDraft & { readonly name: string } }; value: GuildChannel };
  updateChannel: {
    /** `threadChange`: the same request, for a thread. */
    input: {
      readonly channelId: ChannelId;
      readonly draft: ChannelDraft;
      readonly threadChange?: ThreadChange;
    };
    value: GuildChannel;
  };
  deleteChannel: { input: { readonly channelId: ChannelId }; value: GuildChannel };
  moveChannels: { input: { readonly moves: readonly ChannelMove[] }; value: null };
  setOverwrite: {
    input: { readonly channelId: ChannelId; readonly overwrite: OverwriteDraft };
    value: null;
  };
  deleteOverwrite: {
    input: { readonly channelId: ChannelId; readonly overwriteId: OverwriteId };
    value: null;
  };
};

/** Fields of a channel that the audit log lists; overwrites have entries of their own. */
const AUDITED = [
  'name',
  'type',
  'topic',
  'nsfw',
  'rate_limit_per_user',
  'bitrate',
  'user_limit',
  'rtc_region',
  'video_quality_mode',
  'default_auto_archive_duration',
  'default_thread_rate_limit_per_user',
  'default_reaction_emoji',
  'default_sort_order',
  'default_forum_layout',
  'available_tags',
  'flags',
  'parent_id',
  'position',
] as const;

/** The union of all channel types lacks fields that only some have; a comparison may use any name. */
const comparable = (channel: GuildChannel) =>
  channel as unknown as Readonly<Record<(typeof AUDITED)[number] | 'permission_overwrites', unknown>>;

function createChannel(
  guild: Guild,
  { draft }: ChannelCommands['createChannel']['input'],
  by: By,
  env: Env,
): Outcome<GuildChannel, GuildFact> {
  const type = draft.type ?? CHANNEL.GUILD_TEXT;
  const parentId = draft.parent_id ?? null;
  if (guild.channels.size >= LIMITS.channels_per_guild_max) return refused(refusal('MAXIMUM_CHANNELS'));
  if (!mayHaveType(guild, type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const no = parentRefusal(guild, type, parentId, null) ?? managesRefusal(guild, by, parentId, env.nowMs);
  if (no) return refused(no);
  const overwrites = firstOverwrites(guild, draft, parentId, by, env.nowMs);
  if (!overwrites.ok) return overwrites;
  const fields = shapedFields(guild, type, null, draft, env);
  if (!fields.ok) return fields;
  const channel = {
    ...fields.value,
    id: env.nextId() as ChannelId,
    type,
    guild_id: guild.id,
    parent_id: parentId,
    position: draft.position ?? nextPosition(guild, type, parentId),
    permission_overwrites: overwrites.value,
  } as GuildChannel;
  return accepted(channel, [
    { type: 'channelCreated', channel },
    auditEntry(env, by, {
      actionType: AUDIT.CHANNEL_CREATE,
      targetId: channel.id,
      changes: changesOf(null, comparable(channel), [...AUDITED, 'permission_overwrites']),
    }),
  ]);
}

/** Overwrites of a new channel: the request's, or a copy of its category's ("synced"). */
function firstOverwrites(
  guild: Guild,
  draft: ChannelDraft,
  parentId: ChannelId | null,
  by: By,
  nowMs: number,
): Outcome<readonly APIOverwrite[], never> {
  const parent = parentId ? guild.channels.get(parentId) : undefined;
  if (!draft.permission_overwrites) return accepted(parent ? overwritesOf(parent) : []);
  const read = readOverwrites(guild, draft.permission_overwrites);
  if (!read.ok) return read;
  const no = overwritesRefusal(guild, by, { channel: null, parentId }, changedBits([], read.value), nowMs);
  return no ? refused(no) : read;
}

/** Managing a channel requires the permission in its category, or in the guild for a channel without one. */
function managesRefusal(guild: Guild, by: By, parentId: ChannelId | null, nowMs: number): Refusal | null {
  const parent = parentId ? guild.channels.get(parentId) : undefined;
  const bits = parent ? bitsIn(guild, by, parent, nowMs) : bitsOf(guild, by, nowMs);
  return (bits & P.MANAGE_CHANNELS) === 0n ? refusal('MISSING_PERMISSIONS') : null;
}

function updateChannel(
  guild: Guild,
  { channelId, draft, threadChange = {} }: ChannelCommands['updateChannel']['input'],
  by: By,
  env: Env,
): Outcome<GuildChannel, GuildFact> {
  const thread = guild.threads.get(channelId);
  if (thread) return updateThread(guild, thread, threadChange, by, env);
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const type = draft.type ?? channel.type;
  const parentId = draft.parent_id === undefined ? parentOf(channel) : draft.parent_id;
  const moved = parentId !== parentOf(channel);
  const no =
    typeRefusal(guild, channel, type) ??
    (moved ? parentRefusal(guild, type, parentId, channel) : null) ??
    (moved ? managesRefusal(guild, by, parentId, env.nowMs) : null);
  if (no) return refused(no);
  const overwrites = draft.permission_overwrites
    ? readOverwrites(guild, draft.permission_overwrites)
    : accepted(overwritesOf(channel));
  if (!overwrites.ok) return refused(overwrites.refusal);
  const bits = changedBits(overwritesOf(channel), overwrites.value);
  const forbidden = overwritesRefusal(guild, by, { channel, parentId: parentOf(channel) }, bits, env.nowMs);
  if (forbidden) return refused(forbidden);
  const fields = shapedFields(guild, type, channel, draft, env);
  if (!fields.ok) return fields;
  const next = {
    ...channel,
    ...fields.value,
    type,
    parent_id: parentId,
    position: draft.position ?? channel.position,
    permission_overwrites: overwrites.value,
  } as GuildChannel;
  return accepted(next, updateFacts(guild, channel, next, by, env));
}

/** The only possible change of type: between text and announcements, in a guild with that feature. */
function typeRefusal(guild: Guild, channel: GuildChannel, type: number): Refusal | null {
  if (type === channel.type) return null;
  const allowed = CONVERTIBLE.has(type) && CONVERTIBLE.has(channel.type);
  return allowed && guild.info.features.includes('NEWS') ? null : refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE');
}

/** The facts that turn one version of a channel into the next; empty when nothing differs. */
function updateFacts(guild: Guild, before: GuildChannel, next: GuildChannel, by: By, env: Env): GuildFact[] {
  const changes = changesOf(comparable(before), comparable(next), AUDITED);
  const [was, is] = [overwritesOf(before), overwritesOf(next)];
  const resynced = sameOverwrites(was, is) ? [] : synced(guild, before, is);
  const entries = overwriteEntries(guild, env, by, next.id, was, is);
  if (changes.length === 0 && entries.length === 0) return [];
  const update = { actionType: AUDIT.CHANNEL_UPDATE, targetId: next.id, changes };
  return [
    { type: 'channelUpdated', channel: next },
    ...resynced,
    ...(changes.length > 0 ? [auditEntry(env, by, update)] : []),
    ...entries,
  ];
}

/** Applies a category's overwrites to the channels that were synced with it. */
function synced(guild: Guild, category: GuildChannel, overwrites: readonly APIOverwrite[]): GuildFact[] {
  if (category.type !== CHANNEL.GUILD_CATEGORY) return [];
  return [...guild.channels.values()]
    .filter((child) => parentOf(child) === category.id)
    .filter((child) => sameOverwrites(overwritesOf(child), overwritesOf(category)))
    .map((child) => ({
      type: 'channelUpdated',
      channel: { ...child, permission_overwrites: [...overwrites] },
    }));
}

const parentOf = (channel: GuildChannel): ChannelId | null => channel.parent_id ?? null;

/** Settings of the guild that name a channel. */
const POINTERS = [
  'afk_channel_id',
  'system_channel_id',
  'widget_channel_id',
  'rules_channel_id',
  'safety_alerts_channel_id',
  'public_updates_channel_id',
] as const satisfies readonly (keyof GuildInfo)[];

function deleteChannel(
  guild: Guild,
  { channelId }: ChannelCommands['deleteChannel']['input'],
  by: By,
  env: Env,
): Outcome<GuildChannel, GuildFact> {
  const thread = guild.threads.get(channelId);
  if (thread) return deleteThread(thread, by, env);
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const { info } = guild;
  const required = [info.rules_channel_id, info.public_updates_channel_id];
  if (info.features.includes('COMMUNITY') && required.includes(channelId)) {
    return refused(refusal('CANNOT_DELETE_COMMUNITY_CHANNEL'));
  }
  const dangling = POINTERS.filter((key) => info[key] === channelId);
  const cleared = {
    ...Object.fromEntries(dangling.map((key) => [key, null])),
    ...(leadsTo(guild, channelId) ? withVanity(info, null) : {}),
  };
  const orphans = [...guild.channels.values()].filter((child) => parentOf(child) === channelId);
  return accepted(channel, [
    ...(Object.keys(cleared).length > 0
      ? [{ type: 'guildUpdated' as const, info: { ...info, ...cleared } }]
      : []),
    ...orphans.map((child) => ({ type: 'channelUpdated' as const, channel: { ...child, parent_id: null } })),
    ...voiceEnds(guild, channelId),
    { type: 'channelDeleted', channel },
    auditEntry(env, by, {
      actionType: AUDIT.CHANNEL_DELETE,
      targetId: channelId,
      changes: changesOf(comparable(channel), null, [...AUDITED, 'permission_overwrites']),
    }),
  ]);
}

function setOverwrite(
  guild: Guild,
  { channelId, overwrite: draft }: ChannelCommands['setOverwrite']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const before = overwritesOf(channel);
  const old = before.find(({ id }) => id === draft.id);
  const overwrite = readOverwrite(guild, old && draft.type == null ? { ...draft, type: old.type } : draft);
  const known =
    overwrite.type === 0
      ? isRoleId(draft.id) && guild.roles.has(draft.id)
      : isUserId(draft.id) && guild.members.get(draft.id);
  if (!known && !old) return refused(refusal('UNKNOWN_PERMISSION_OVERWRITE'));
  if (!old && before.length >= LIMITS.overwrites_per_channel_max)
    return refused(refusal('MAXIMUM_OVERWRITES'));
  const after = old ? before.map((other) => (other === old ? overwrite : other)) : [...before, overwrite];
  return replaceOverwrites(guild, channel, after, by, env);
}

function deleteOverwrite(
  guild: Guild,
  { channelId, overwriteId }: ChannelCommands['deleteOverwrite']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const before = overwritesOf(channel);
  const after = before.filter(({ id }) => id !== overwriteId);
  if (after.length === before.length) return refused(refusal('UNKNOWN_PERMISSION_OVERWRITE'));
  return replaceOverwrites(guild, channel, after, by, env);
}

function replaceOverwrites(
  guild: Guild,
  channel: GuildChannel,
  after: APIOverwrite[],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const bits = changedBits(overwritesOf(channel), after);
  const no = overwritesRefusal(guild, by, { channel, parentId: parentOf(channel) }, bits, env.nowMs);
  if (no) return refused(no);
  const next: GuildChannel = { ...channel, permission_overwrites: after };
  return accepted(null, updateFacts(guild, channel, next, by, env));
}

/** The channels that a caller may see, each section by position. The server itself sees all. */
function listChannels(
  guild: Guild,
  { withLinking = false }: ChannelCommands['listChannels']['input'],
  by: By,
  env: Env,
): Outcome<GuildChannel[], GuildFact> {
  const visible = [...guild.channels.values()].flatMap((channel) => {
    const bits = bitsIn(guild, by, channel, env.nowMs);
    if ((bits & P.VIEW_CHANNEL) === 0n) return [];
    return [withLinking ? { ...channel, ...linkable(guild, channel, bits) } : channel];
  });
  return accepted(visible.sort((a, b) => a.position - b.position || compareIds(a.id, b.id)));
}

function seenAlike(guild: Guild, after: GuildChannel): boolean {
  const before = guild.channels.get(after.id);
  return before !== undefined && sameOverwrites(overwritesOf(before), overwritesOf(after));
}

function applyChannelUpdated(guild: Guild, fact: ChannelFacts['channelUpdated']): void {
  const { channel } = fact;
  const alike = guild.channels.get(channel.id)?.type === channel.type && seenAlike(guild, channel);
  guild.channels.set(channel.id, channel);
  if (!alike) guild.visibilityVersion++;
}

function applyChannelDeleted(guild: Guild, fact: ChannelFacts['channelDeleted']): void {
  const { id } = fact.channel;
  guild.channels.delete(id);
  const gone = new Set<string>([id]);
  for (const [threadId, record] of guild.threads)
    if (record?.thread.parent_id === id) {
      guild.threads.set(threadId, null);
      gone.add(threadId);
    }
  for (const [messageId, message] of guild.messages) {
    if (message && gone.has(message.channel_id)) guild.messages.delete(messageId);
  }
  for (const [code, invite] of guild.invites) {
    if (invite?.channel_id === id) guild.invites.set(code, null);
  }
  for (const webhook of guild.webhooks?.values() ?? []) {
    if (webhook.channel_id === id) guild.webhooks?.delete(webhook.id);
  }
  guild.visibilityVersion++;
}

/**
 * Sessions that gain sight of the channel receive CHANNEL_CREATE, sessions that lose it CHANNEL_DELETE, all others an
 * update.
 */
function updateDispatches(guild: Guild, channel: GuildChannel, before: Sight | null): Dispatch[] {
  const keepsSight = before === null;
  const update = (to: Dispatch['to']): Dispatch => ({ t: 'CHANNEL_UPDATE', d: channel, to, keepsSight });
  const changes = visibilityChanges(guild, before);
  if (changes.every(({ gained, lost }) => gained.length === 0 && lost.length === 0)) {
    return [update({ kind: 'channel', channelId: channel.id })];
  }
  const kept = changes.flatMap((change) => change.kept);
  return [
    ...dispatchesOf(guild, changes),
    ...(kept.length > 0 ? [update({ kind: 'users', userIds: kept })] : []),
  ];
}

/** Channels and their overwrites. */
export const channels: GuildTopic<ChannelCommands, keyof ChannelFacts> = {
  commands: {
    listChannels: { decide: listChannels },
    getChannel: {
      decide: (guild, { channelId }, by) => {
        const thread = guild.threads.get(channelId);
        if (thread) return accepted(channelFrom(shownThread(thread, by.userId)));
        const channel = guild.channels.get(channelId);
        return channel ? accepted(channel) : refused(refusal('UNKNOWN_CHANNEL'));
      },
    },
    createChannel: { decide: createChannel },
    updateChannel: { requiresInThread: P.VIEW_CHANNEL, decide: updateChannel },
    deleteChannel: { requiresInThread: P.MANAGE_THREADS, needs: needsVanity, decide: deleteChannel },
    moveChannels: { decide: moveChannels },
    setOverwrite: {
      // An id that is no role may be a member's, which needs one lookup.
      needs: ({ overwrite: { id } }, guild) =>
        !isUserId(id) || (isRoleId(id) && guild.roles.has(id)) ? {} : { members: [id] },
      decide: setOverwrite,
    },
    deleteOverwrite: { decide: deleteOverwrite },
  },
  facts: {
    channelCreated: {
      apply: (guild, { channel }) => {
        guild.channels.set(channel.id, channel);
        guild.visibilityVersion++;
      },
      dispatches: (_guild, { channel }) => [
        { t: 'CHANNEL_CREATE', d: channel, to: { kind: 'channel', channelId: channel.id } },
      ],
    },
    channelUpdated: withBefore({
      voiceMembers: 'everyone',
      before: (guild, { channel }) =>
        seenAlike(guild, channel) ? null : sightOf(guild, { channelIds: [channel.id] }),
      apply: applyChannelUpdated,
      dispatches: (guild, { channel }, before) => updateDispatches(guild, channel, before),
    }),
    channelDeleted: {
      voiceMembers: 'everyone',
      apply: applyChannelDeleted,
      dispatches: (_guild, { channel }) => [
        { t: 'CHANNEL_DELETE', d: channel, to: { kind: 'channel', channelId: channel.id } },
      ],
    },
  },
};
