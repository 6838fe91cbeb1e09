import { isJson, type Json } from '../sdk/voice/wire.ts';

interface Person {
  readonly id: string;
  readonly name: string;
}

export interface VoiceState {
  readonly userId: string;
  readonly channelId: string;
  /** Muted by the user or by a moderator. */
  readonly muted: boolean;
  readonly deafened: boolean;
  /** Silenced by a moderator, or as audience of a stage. */
  readonly silenced: boolean;
}

export interface VoiceChannel {
  readonly id: string;
  readonly name: string;
  readonly isStage: boolean;
  readonly position: number;
}

interface Role {
  readonly id: string;
  readonly name: string;
}

interface TextChannel {
  readonly id: string;
  readonly name: string;
  readonly position: number;
}

export interface Guild {
  readonly id: string;
  readonly name: string;
  readonly channels: ReadonlyMap<string, VoiceChannel>;
  readonly texts: ReadonlyMap<string, TextChannel>;
  readonly roles: ReadonlyMap<string, Role>;
  readonly voiceStates: ReadonlyMap<string, VoiceState>;
}

/** The guilds, channels and users that the page knows, from READY on. */
export interface Directory {
  readonly self: Person | null;
  readonly guilds: ReadonlyMap<string, Guild>;
  readonly people: ReadonlyMap<string, Person>;
}

export const EMPTY: Directory = { self: null, guilds: new Map(), people: new Map() };

const TEXT_CHANNEL = 0;
const VOICE_CHANNEL = 2;
const STAGE_CHANNEL = 13;

/** The directory after a dispatch; the same object if the dispatch changes nothing in it. */
export function heardOf(directory: Directory, name: string, d: Json): Directory {
  if (name === 'READY') return { ...EMPTY, self: personOf(d.user, null) };
  if (name === 'GUILD_CREATE') return withPeople(withGuild(directory, guildOf(d)), d.members);
  if (name === 'GUILD_UPDATE') return changed(directory, d.id, (guild) => ({ ...guild, name: text(d.name) }));
  if (name === 'GUILD_DELETE') return { ...directory, guilds: without(directory.guilds, text(d.id)) };
  if (name === 'CHANNEL_CREATE' || name === 'CHANNEL_UPDATE' || name === 'CHANNEL_DELETE') {
    const channel = name === 'CHANNEL_DELETE' ? null : channelOf(d);
    return changed(directory, d.guild_id, (guild) => {
      const rest = without(guild.channels, text(d.id));
      const texts = without(guild.texts, text(d.id));
      const written = name === 'CHANNEL_DELETE' ? null : textChannelOf(d);
      return {
        ...guild,
        channels: channel === null ? rest : withEntry(rest, channel),
        texts: written === null ? texts : withEntry(texts, written),
      };
    });
  }
  if (name === 'GUILD_ROLE_CREATE' || name === 'GUILD_ROLE_UPDATE')
    return changed(directory, d.guild_id, (guild) => ({
      ...guild,
      roles: new Map([...guild.roles, ...rolesOf([d.role])]),
    }));
  if (name === 'GUILD_ROLE_DELETE')
    return changed(directory, d.guild_id, (guild) => ({
      ...guild,
      roles: without(guild.roles, text(d.role_id)),
    }));
  if (name === 'VOICE_STATE_UPDATE') return moved(directory, d);
  return directory;
}

function moved(directory: Directory, d: Json): Directory {
  const state = stateOf(d);
  const named = withPeople(directory, [d.member]);
  return changed(named, d.guild_id, (guild) => {
    const rest = without(guild.voiceStates, text(d.user_id));
    return { ...guild, voiceStates: state === null ? rest : new Map(rest).set(state.userId, state) };
  });
}

function changed(directory: Directory, id: unknown, change: (guild: Guild) => Guild): Directory {
  const guild = directory.guilds.get(text(id));
  return guild === undefined ? directory : withGuild(directory, change(guild));
}

const withGuild = (directory: Directory, guild: Guild): Directory => ({
  ...directory,
  guilds: withEntry(directory.guilds, guild),
});

function withPeople(directory: Directory, members: unknown): Directory {
  const people = new Map(directory.people);
  for (const member of list(members)) {
    const person = personOf(member.user, member.nick);
    if (person !== null) people.set(person.id, person);
  }
  return { ...directory, people };
}

function guildOf(d: Json): Guild {
  const channels = list(d.channels).flatMap((channel) => channelOf(channel) ?? []);
  const texts = list(d.channels).flatMap((channel) => textChannelOf(channel) ?? []);
  const states = list(d.voice_states).flatMap((state) => stateOf(state) ?? []);
  return {
    id: text(d.id),
    name: text(d.name),
    channels: new Map(channels.map((channel) => [channel.id, channel])),
    texts: new Map(texts.map((channel) => [channel.id, channel])),
    roles: rolesOf(d.roles),
    voiceStates: new Map(states.map((state) => [state.userId, state])),
  };
}

const rolesOf = (roles: unknown): ReadonlyMap<string, Role> =>
  new Map(list(roles).map((role) => [text(role.id), { id: text(role.id), name: text(role.name) }]));

function channelOf(d: Json): VoiceChannel | null {
  if (d.type !== VOICE_CHANNEL && d.type !== STAGE_CHANNEL) return null;
  const isStage = d.type === STAGE_CHANNEL;
  return { id: text(d.id), name: text(d.name), isStage, position: Number(d.position ?? 0) };
}

const textChannelOf = (d: Json): TextChannel | null =>
  d.type === TEXT_CHANNEL ? { id: text(d.id), name: text(d.name), position: Number(d.position ?? 0) } : null;

function stateOf(d: Json): VoiceState | null {
  if (typeof d.channel_id !== 'string') return null;
  const silenced = d.mute === true || d.suppress === true;
  return {
    userId: text(d.user_id),
    channelId: d.channel_id,
    silenced,
    muted: silenced || d.self_mute === true,
    deafened: d.deaf === true || d.self_deaf === true,
  };
}

function personOf(user: unknown, nick: unknown): Person | null {
  if (!isJson(user) || typeof user.id !== 'string') return null;
  const name = [nick, user.global_name, user.username].find(
    (each) => typeof each === 'string' && each !== '',
  );
  return { id: user.id, name: text(name) };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
const withEntry = <T extends { id: string }>(map: ReadonlyMap<string, T>, entry: T): ReadonlyMap<string, T> =>
  new Map(map).set(entry.id, entry);

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
