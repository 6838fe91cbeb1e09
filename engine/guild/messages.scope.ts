import { CHANNEL, FORUMS, WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import {
  type ChannelId,
  everyoneRoleOf,
  isRoleId,
  isUserId,
  type MessageId,
  type UserId,
} from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Sender } from '../channel/draft.ts';
import { pinsIn, type Scope, sentUnder } from '../channel/messages.ts';
import { type Env, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { channelIn, holds } from '../permissions/permissions.ts';
import { bitsIn } from './authorize.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel, StoredMessage } from './guild.ts';

/** What a slow mode counts of a user in a channel. */
type SlowmodeNeed = NonNullable<Needs['slowmode']>[number];

/** A guild channel with the caller's permissions for its messages. */
export interface GuildScope extends Scope {
  readonly channel: GuildChannel;
}

/**
 * @param from The author, when it is not the caller.
 * @returns 10003, 40058 and 50008 for channels that have no messages; 10013 for an unknown caller.
 */
export function scopeIn(
  guild: Guild,
  channelId: ChannelId,
  by: By,
  env: Env,
  from?: Sender,
): Reply<GuildScope> {
  const channel = channelIn(guild, channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (FORUMS.has(channel.type)) return refused(refusal('CANNOT_SEND_IN_FORUM'));
  if (!WITH_MESSAGES.has(channel.type)) return refused(refusal('CANNOT_SEND_IN_NON_TEXT_CHANNEL'));
  return scopeOf(guild, channel, by, env, from);
}

/**
 * A channel or a thread that has messages.
 *
 * @param bearer The channel whose permissions count, where the thread is not there yet.
 */
export function scopeOf(
  guild: Guild,
  channel: GuildChannel,
  by: By,
  env: Env,
  from?: Sender,
  bearer = channel,
): Reply<GuildScope> {
  const channelId = channel.id;
  const user = from ? from.fields.author : userIn(guild, by.userId);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const permissions = bitsIn(guild, by, bearer, env.nowMs);
  return {
    ok: true,
    value: {
      channel,
      ownerId: guild.id,
      guildId: guild.id,
      channelId,
      user,
      permissions,
      userOf: (id) => (isUserId(id) ? userIn(guild, id) : null),
      mayNotifyRole: (id) => {
        const role = isRoleId(id) && guild.roles.get(id);
        if (!role || role.id === everyoneRoleOf(guild.id)) return false;
        return role.mentionable || (permissions & P.MENTION_EVERYONE) !== 0n;
      },
      messageOf: (id) => messageIn(guild, channelId, id),
      pins: () => pinsIn(guild, channelId),
      sentUnder: (nonce) => sentUnder(guild, by.userId, nonce, env.nowMs),
    },
  };
}

/** Runs a rule on a channel that has messages. @returns 50083 for an archived thread, in which nothing changes. */
export function inChannel<Value>(
  guild: Guild,
  channelId: ChannelId,
  by: By,
  env: Env,
  rule: (scope: GuildScope) => Outcome<Value, GuildFact>,
  from?: Sender,
): Outcome<Value, GuildFact> {
  const isArchived = guild.threads.get(channelId)?.thread.thread_metadata.archived === true;
  if (isArchived) return refused(refusal('THREAD_ARCHIVED'));
  return inAnyChannel(guild, channelId, by, env, rule, from);
}

/** Runs a rule on a channel that has messages, or on a thread, also an archived one. */
export function inAnyChannel<Value>(
  guild: Guild,
  channelId: ChannelId,
  by: By,
  env: Env,
  rule: (scope: GuildScope) => Outcome<Value, GuildFact>,
  from?: Sender,
): Outcome<Value, GuildFact> {
  const scope = scopeIn(guild, channelId, by, env, from);
  return scope.ok ? rule(scope.value) : scope;
}

const userIn = (guild: Guild, id: UserId) => guild.members.get(id)?.user ?? guild.users.get(id) ?? null;

/** The window's key is the message id alone, so the channel is checked here. */
function messageIn(guild: Guild, channelId: ChannelId, id: MessageId): StoredMessage | null {
  const message = guild.messages.get(id);
  return message?.channel_id === channelId ? message : null;
}

/** Seconds between two messages of one user; 0 without slow mode. */
const slowmodeSec = (channel: GuildChannel): number =>
  (channel as { readonly rate_limit_per_user?: number }).rate_limit_per_user ?? 0;

/** How long the caller must still wait before the next message, in milliseconds; 0 for no wait. */
export function slowmodeWaitMs(guild: Guild, { channel, user, permissions }: GuildScope, env: Env): number {
  const seconds = slowmodeSec(channel);
  if (seconds === 0 || user.bot) return 0;
  if (holds(permissions, P.BYPASS_SLOWMODE, env.rulesMs)) return 0;
  return leftMs(
    guild,
    channel,
    slowmodeKey({ channelId: channel.id, userId: user.id, counts: 'messages' }),
    env,
  );
}

function leftMs(guild: Guild, channel: GuildChannel, key: string, env: Env): number {
  const lastMs = guild.slowmode.get(key);
  return lastMs === undefined ? 0 : Math.max(0, lastMs + slowmodeSec(channel) * 1_000 - env.nowMs);
}

/** The slow mode of a channel counts threads apart from messages. */
export const slowmodeKey = ({ channelId, userId, counts }: SlowmodeNeed): string =>
  `${channelId}:${userId}${counts === 'threads' ? ':thread' : ''}`;

/** What the slow mode of a channel needs to know of a user; nothing without a slow mode, and of bots. */
export function needsSlowmode(
  guild: Guild,
  channelId: ChannelId,
  { userId, bot, system }: Pick<By, 'userId' | 'bot' | 'system'>,
  counts: SlowmodeNeed['counts'],
): Needs {
  const channel = bot || system ? undefined : channelIn(guild, channelId);
  return channel && slowmodeSec(channel) > 0 ? { slowmode: [{ channelId, userId, counts }] } : {};
}

/**
 * Why the caller may not make another thread in the channel yet.
 *
 * @source https://docs.discord.com/developers/resources/channel#channel-object, footnote on `rate_limit_per_user`
 */
export function threadWaitRefusal(guild: Guild, channel: GuildChannel, by: By, env: Env): Refusal | null {
  if (slowmodeSec(channel) === 0 || by.system || guild.members.get(by.userId)?.user.bot) return null;
  const key = slowmodeKey({ channelId: channel.id, userId: by.userId, counts: 'threads' });
  const waitMs = leftMs(guild, channel, key, env);
  if (waitMs === 0 || holds(bitsIn(guild, by, channel, env.nowMs), P.BYPASS_SLOWMODE, env.rulesMs))
    return null;
  return { ...refusal('SLOWMODE_RATE_LIMIT'), retryAfterSec: waitMs / 1_000 };
}

/** Remembers when a user last wrote, or created a thread, in a channel, while it has a slow mode. */
export function noteSlowmode(guild: Guild, of: SlowmodeNeed, atMs: number): void {
  const channel = channelIn(guild, of.channelId);
  if (!channel || slowmodeSec(channel) === 0) return;
  const key = slowmodeKey(of);
  guild.slowmode.delete(key);
  guild.slowmode.set(key, atMs);
}

/** Whether a slow mode still delays any user. Cost: O(`slowmode_entries_max`). */
export function slowmodeRuns(guild: Guild, nowMs: number): boolean {
  for (const [key, lastMs] of guild.slowmode) {
    const channel = channelIn(guild, key.split(':', 1)[0] as ChannelId);
    if (channel && lastMs + slowmodeSec(channel) * 1_000 > nowMs) return true;
  }
  return false;
}

/** The history of voice channels also requires CONNECT. */
export function readsHistory({ channel, permissions }: GuildScope): boolean {
  const voice = channel.type === CHANNEL.GUILD_VOICE || channel.type === CHANNEL.GUILD_STAGE_VOICE;
  const needed = voice ? P.READ_MESSAGE_HISTORY | P.CONNECT : P.READ_MESSAGE_HISTORY;
  return (permissions & needed) === needed;
}
