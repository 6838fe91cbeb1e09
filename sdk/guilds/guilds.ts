import { isJson, type Json } from '../voice/wire.ts';
import { list, text } from './read.ts';

/** A channel or thread of a guild. */
export interface ChannelView {
  readonly id: string;
  readonly type: number;
  readonly name: string;
  readonly parentId: string | null;
  readonly position: number;
  readonly topic: string;
  readonly isArchived: boolean;
  readonly messageCount: number;
  /** Tags of a forum. */
  readonly tags: readonly { readonly id: string; readonly name: string }[];
}

export interface MemberView {
  readonly id: string;
  readonly name: string;
  readonly avatar: string | null;
  readonly isBot: boolean;
  readonly status: string;
  /** The member's activity, as the presence says it. */
  readonly activity: string;
}

export interface GuildView {
  readonly id: string;
  readonly name: string;
  readonly channels: ReadonlyMap<string, ChannelView>;
  readonly members: ReadonlyMap<string, MemberView>;
  readonly emojis: readonly { readonly id: string; readonly name: string }[];
  readonly stickers: readonly { readonly id: string; readonly name: string }[];
  readonly memberCount: number;
}

/** Guilds with channels, threads and members, as received from the gateway. */
export type GuildViews = ReadonlyMap<string, GuildView>;

/** Most members kept of one guild. */
const MEMBERS_MAX = 500;

/** The guilds after a dispatch; the same object if it changes nothing. */
export function guildsAfter(guilds: GuildViews, t: string, d: Json): GuildViews {
  if (t === 'READY') return new Map();
  if (t === 'GUILD_CREATE') return new Map(guilds).set(text(d.id), guildOf(d));
  if (t === 'GUILD_DELETE')
    return guilds.has(text(d.id)) ? new Map([...guilds].filter(([id]) => id !== d.id)) : guilds;
  const guildId = t === 'GUILD_UPDATE' ? text(d.id) : text(d.guild_id);
  const guild = guilds.get(guildId);
  if (guild === undefined) return guilds;
  const next = guildAfter(guild, t, d);
  return next === guild ? guilds : new Map(guilds).set(guildId, next);
}

function guildAfter(guild: GuildView, t: string, d: Json): GuildView {
  switch (t) {
    case 'GUILD_UPDATE':
      return { ...guild, name: text(d.name) };
    case 'CHANNEL_CREATE':
    case 'CHANNEL_UPDATE':
    case 'THREAD_CREATE':
    case 'THREAD_UPDATE':
      return { ...guild, channels: new Map(guild.channels).set(text(d.id), channelOf(d)) };
    case 'CHANNEL_DELETE':
    case 'THREAD_DELETE':
      return { ...guild, channels: new Map([...guild.channels].filter(([id]) => id !== d.id)) };
    case 'THREAD_LIST_SYNC':
      return { ...guild, channels: withChannels(guild.channels, d.threads) };
    case 'GUILD_MEMBER_ADD':
    case 'GUILD_MEMBER_UPDATE':
      return withMembers(guild, [d], [], t === 'GUILD_MEMBER_ADD' ? 1 : 0);
    case 'GUILD_MEMBERS_CHUNK':
      return withMembers(guild, list(d.members), list(d.presences), 0);
    case 'GUILD_MEMBER_REMOVE': {
      const gone = isJson(d.user) ? d.user.id : null;
      const members = new Map([...guild.members].filter(([id]) => id !== gone));
      return { ...guild, members, memberCount: guild.memberCount - 1 };
    }
    case 'PRESENCE_UPDATE':
      return withMembers(guild, [], [d], 0);
    case 'GUILD_EMOJIS_UPDATE':
      return { ...guild, emojis: named(d.emojis) };
    case 'GUILD_STICKERS_UPDATE':
      return { ...guild, stickers: named(d.stickers) };
    default:
      return guild;
  }
}

function guildOf(d: Json): GuildView {
  const empty: GuildView = {
    ...{ id: text(d.id), name: text(d.name), members: new Map() },
    channels: withChannels(withChannels(new Map(), d.channels), d.threads),
    ...{ emojis: named(d.emojis), stickers: named(d.stickers) },
    memberCount: Number(d.member_count ?? 0),
  };
  return withMembers(empty, list(d.members), list(d.presences), 0);
}

const withChannels = (
  channels: ReadonlyMap<string, ChannelView>,
  more: unknown,
): ReadonlyMap<string, ChannelView> =>
  new Map([...channels, ...list(more).map((one) => [text(one.id), channelOf(one)] as const)]);

function channelOf(d: Json): ChannelView {
  const about = isJson(d.thread_metadata) ? d.thread_metadata : {};
  return {
    ...{ id: text(d.id), type: Number(d.type), name: text(d.name), topic: text(d.topic) },
    parentId: typeof d.parent_id === 'string' ? d.parent_id : null,
    position: Number(d.position ?? 0),
    isArchived: about.archived === true,
    messageCount: Number(d.message_count ?? 0),
    tags: named(d.available_tags),
  };
}

function withMembers(
  guild: GuildView,
  joined: readonly Json[],
  presences: readonly Json[],
  more: number,
): GuildView {
  const members = new Map(guild.members);
  for (const member of joined) {
    const { user } = member;
    if (!isJson(user) || typeof user.id !== 'string') continue;
    const { status = 'offline', activity = '' } = members.get(user.id) ?? {};
    const name = [member.nick, user.global_name, user.username].find(
      (one) => typeof one === 'string' && one !== '',
    );
    const avatar = typeof user.avatar === 'string' ? user.avatar : null;
    members.set(user.id, {
      id: user.id,
      name: text(name),
      avatar,
      isBot: user.bot === true,
      status,
      activity,
    });
  }
  for (const presence of presences) {
    const { user } = presence;
    const known = isJson(user) ? members.get(text(user.id)) : undefined;
    if (known === undefined) continue;
    const [first] = list(presence.activities);
    const activity = first === undefined ? '' : text(first.state ?? first.name);
    members.set(known.id, { ...known, status: text(presence.status) || 'offline', activity });
  }
  const bounded = members.size > MEMBERS_MAX ? new Map([...members].slice(-MEMBERS_MAX)) : members;
  return { ...guild, members: bounded, memberCount: guild.memberCount + more };
}

const named = (values: unknown): readonly { readonly id: string; readonly name: string }[] =>
  list(values).map((one) => ({ id: text(one.id), name: text(one.name) }));
