import { isJson, type Json } from '../../sdk/voice/wire.ts';

/** A channel or thread as the list of channels shows it. */
export interface Channel {
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

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly avatar: string | null;
  readonly isBot: boolean;
  readonly status: string;
  /** What the member does, as the presence says it. */
  readonly activity: string;
}

export interface GuildView {
  readonly id: string;
  readonly name: string;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly members: ReadonlyMap<string, Member>;
  readonly emojis: readonly { readonly id: string; readonly name: string }[];
  readonly stickers: readonly { readonly id: string; readonly name: string }[];
  readonly memberCount: number;
}

/** Where the user is: a channel of a guild, or the lobbies. */
export interface Place {
  readonly guildId: string | null;
  readonly channelId: string | null;
  readonly isLobbies: boolean;
}

/** Guilds with channels, threads and members, as received from the gateway. */
export type World = ReadonlyMap<string, GuildView>;

export const CHANNEL = { text: 0, voice: 2, category: 4, news: 5, stage: 13, forum: 15, media: 16 } as const;
export const isThread = ({ type }: Channel): boolean => type >= 10 && type <= 12;
export const isForum = ({ type }: Channel): boolean => type === CHANNEL.forum || type === CHANNEL.media;
export const isVoice = ({ type }: Channel): boolean => type === CHANNEL.voice || type === CHANNEL.stage;

/** Most members kept of one guild. */
const MEMBERS_MAX = 500;

/** The world after a dispatch; the same object if it changes nothing. */
export function worldAfter(world: World, t: string, d: Json): World {
  if (t === 'READY') return new Map();
  if (t === 'GUILD_CREATE') return new Map(world).set(text(d.id), guildOf(d));
  if (t === 'GUILD_DELETE') return new Map([...world].filter(([id]) => id !== d.id));
  const guildId = t === 'GUILD_UPDATE' ? text(d.id) : text(d.guild_id);
  const guild = world.get(guildId);
  if (guild === undefined) return world;
  const next = guildAfter(guild, t, d);
  return next === guild ? world : new Map(world).set(guildId, next);
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

const withChannels = (channels: ReadonlyMap<string, Channel>, more: unknown): ReadonlyMap<string, Channel> =>
  new Map([...channels, ...list(more).map((one) => [text(one.id), channelOf(one)] as const)]);

function channelOf(d: Json): Channel {
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

/** Channels in the order of the list: those without a category first, then each category with its own. */
export function orderedChannels({ channels }: GuildView): readonly Channel[] {
  const all = [...channels.values()].filter((one) => !isThread(one));
  const by = (parentId: string | null) =>
    all
      .filter((one) => one.type !== CHANNEL.category && one.parentId === parentId)
      .sort(
        (a, b) =>
          Number(isVoice(a)) - Number(isVoice(b)) || a.position - b.position || a.id.localeCompare(b.id),
      );
  const categories = all
    .filter(({ type }) => type === CHANNEL.category)
    .sort((a, b) => a.position - b.position);
  return [...by(null), ...categories.flatMap((one) => [one, ...by(one.id)])];
}

/** The open threads of a channel, newest first. */
export const threadsOf = ({ channels }: GuildView, channelId: string): readonly Channel[] =>
  [...channels.values()]
    .filter((one) => isThread(one) && one.parentId === channelId && !one.isArchived)
    .sort((a, b) => b.id.localeCompare(a.id));

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
