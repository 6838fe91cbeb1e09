import { THREADS, WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { sharedMessage } from '../channel/messages.ts';
import type { Guild, GuildChannel, Member } from '../guild/guild.ts';
import { type Reply, refused } from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';
import {
  channelById,
  channelIn,
  channelPermissions,
  guildPermissions,
  isAgeRestricted,
} from '../permissions/permissions.ts';
import type { Described, InvocationQuery } from './place.ts';
import type { Resolved } from './resolved.ts';

/** Rows that `describeInGuild` reads. */
export function needsToDescribe(
  guild: Guild,
  { userId, botId, channelId, wanted, message }: InvocationQuery,
): Needs {
  const named = [...wanted.users, ...wanted.mentionables];
  const ids = named.filter((id) => !guild.roles.has(id));
  return {
    members: [userId, ...(botId === null ? [] : [botId]), ...ids],
    users: ids.filter((id) => !guild.members.get(id)),
    threads: [channelId, ...wanted.channels],
    ...(message === null ? {} : { messages: [{ channelId: message.channelId, id: message.id }] }),
  };
}

/**
 * Describes an invocation in the guild, as an application may know it: the place, the invoker, and the objects that it names.
 *
 * @returns 10003 for an unknown channel, 50001 for one that the invoker cannot see, 50024 for one without messages,
 *   10008 for an unknown message.
 */
export function describeInGuild(guild: Guild, asked: InvocationQuery, nowMs: number): Reply<Described> {
  const channel = channelIn(guild, asked.channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const member = guild.members.get(asked.userId);
  const held = member ? channelPermissions(guild, asked.userId, channel, nowMs) : 0n;
  if (!member || (held & P.VIEW_CHANNEL) === 0n) return refused(refusal('MISSING_ACCESS'));
  if (!WITH_MESSAGES.has(channel.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const { botId } = asked;
  const isBotMember = botId !== null && Boolean(guild.members.get(botId));
  const appHeld = isBotMember ? channelPermissions(guild, botId, channel, nowMs) : outsidePermissions(held);
  const message = asked.message && guild.messages.get(asked.message.id);
  if (asked.message && (!message || !mayUse(message.channel_id, asked, held)))
    return refused(refusal('UNKNOWN_MESSAGE'));
  const { preferred_locale: locale, features } = guild.info;
  // A thread is as its channel.
  const bearer = THREADS.has(channel.type) ? (channelById(guild, channel.parent_id) ?? channel) : channel;
  return {
    ok: true,
    value: {
      guild: { id: guild.id, locale, features },
      channel: { ...channel, permissions: String(held) },
      type: channel.type,
      bearerId: bearer.id,
      isNsfw: isAgeRestricted(guild, channel),
      isLocked:
        guild.threads.get(channel.id)?.thread.thread_metadata.locked === true &&
        (held & P.MANAGE_THREADS) === 0n,
      user: member.user,
      member: { ...member, permissions: String(held) },
      partialMember: withoutUser(member),
      roles: member.roles,
      permissions: String(held),
      appPermissions: String(appHeld),
      isBotHere: isBotMember,
      message: message ?? null,
      resolved: resolve(guild, asked, { botId: isBotMember ? botId : null, nowMs }),
      premiumTier: guild.info.premium_tier,
    },
  };
}

/**
 * Permissions of an application that is not in the guild: the permissions of direct messages, with the invoker's
 * permission to notify.
 */
const outsidePermissions = (held: bigint): bigint =>
  P.ATTACH_FILES | P.EMBED_LINKS | P.USE_EXTERNAL_EMOJIS | (held & P.MENTION_EVERYONE);

/** Whether the invoker may use the message. The target of a menu entry may be old, so it needs READ_MESSAGE_HISTORY. */
const mayUse = (
  messageChannelId: ChannelId,
  { channelId, message }: Pick<InvocationQuery, 'channelId' | 'message'>,
  held: bigint,
): boolean =>
  messageChannelId === channelId && (!message?.isTarget || (held & P.READ_MESSAGE_HISTORY) !== 0n);

interface Viewer {
  readonly botId: UserId | null;
  readonly nowMs: number;
}

function resolve(guild: Guild, { userId, wanted, message }: InvocationQuery, viewer: Viewer): Resolved {
  const resolved: Resolved = {};
  const people = [...wanted.users, ...[...wanted.mentionables].filter((id) => !guild.roles.has(id))];
  for (const id of people) {
    const member = guild.members.get(id);
    const user = member?.user ?? guild.users.get(id);
    if (!user) continue;
    resolved.users = { ...resolved.users, [id]: user };
    if (member) resolved.members = { ...resolved.members, [id]: resolvedMember(guild, member, viewer.nowMs) };
  }
  for (const id of [...wanted.roles, ...wanted.mentionables]) {
    const role = guild.roles.get(id);
    if (role) resolved.roles = { ...resolved.roles, [id]: role };
  }
  for (const id of wanted.channels) {
    const channel = channelIn(guild, id);
    const held = channel ? channelPermissions(guild, userId, channel, viewer.nowMs) : 0n;
    if (!channel || (held & P.VIEW_CHANNEL) === 0n) continue;
    resolved.channels = { ...resolved.channels, [id]: resolvedChannel(guild, channel, held, viewer) };
  }
  const found = message?.isTarget ? guild.messages.get(message.id) : null;
  if (found) resolved.messages = { [found.id]: sharedMessage(found) };
  return resolved;
}

const withoutUser = ({ user: _user, ...rest }: Member): object => rest;

function resolvedMember(guild: Guild, member: Member, nowMs: number): object {
  const { user, deaf: _deaf, mute: _mute, ...rest } = member;
  return { ...rest, permissions: String(guildPermissions(guild, user.id, nowMs)) };
}

/** @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-resolved-data-structure */
const RESOLVED_FIELDS = [
  ...(['id', 'name', 'type', 'last_message_id', 'last_pin_timestamp', 'nsfw', 'parent_id'] as const),
  ...(['guild_id', 'flags', 'rate_limit_per_user', 'topic', 'position', 'thread_metadata'] as const),
];

function resolvedChannel(guild: Guild, channel: GuildChannel, held: bigint, { botId, nowMs }: Viewer) {
  const all: Readonly<Record<string, unknown>> = { ...channel };
  const shown = Object.fromEntries(RESOLVED_FIELDS.flatMap((key) => (key in all ? [[key, all[key]]] : [])));
  const appHeld =
    botId === null ? outsidePermissions(held) : channelPermissions(guild, botId, channel, nowMs);
  return {
    ...shown,
    id: channel.id,
    type: channel.type,
    permissions: String(held),
    app_permissions: String(appHeld),
  };
}
