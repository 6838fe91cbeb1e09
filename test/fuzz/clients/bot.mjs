// A bot with an unmodified library (discord.js, eris or oceanic.js) and every cache on. It reports over IPC what the
// library throws or complains of, and each sentinel message once all that came before it has been taken in.
import http from 'node:http';
import { inspect } from 'node:util';

const { KIND, API, TOKEN, CHANNEL, GUILD } = process.env;
const MESSAGES = 100;
const FAULT_CHARS_MAX = 1_500;

const fault = (where, error) =>
  process.send({ fault: `${where}: ${(error?.stack ?? inspect(error)).slice(0, FAULT_CHARS_MAX)}` });
process.on('uncaughtException', (error) => fault('uncaught exception', error));
process.on('unhandledRejection', (error) => fault('unhandled rejection', error));
process.on('disconnect', () => process.exit(0));

/** Reads lists over REST with the library, then says that the sentinel was seen. */
async function sentinel(content, reads) {
  for (const [name, read] of Object.entries(reads)) {
    try {
      await read();
    } catch (error) {
      fault(`reading ${name}`, error);
    }
  }
  process.send({ saw: content });
}

const isSentinel = ({ content, channel, channelId, channelID }) =>
  content.startsWith('sentinel ') && (channelId ?? channelID ?? channel?.id) === CHANNEL;

/** Reads everything lazily computed of an object of the library. */
function touch(where, object, names) {
  for (const name of names) {
    try {
      const value = object[name];
      if (typeof value === 'function') value.call(object);
    } catch (error) {
      fault(`${where}.${name}`, error);
    }
  }
}

async function reference() {
  const { Client, Events, GatewayIntentBits, Options, Partials } = await import('discord.js');
  const client = new Client({
    intents: Object.values(GatewayIntentBits).filter((bit) => typeof bit === 'number'),
    partials: Object.values(Partials).filter((one) => typeof one === 'number'),
    makeCache: Options.cacheWithLimits({ ...Options.DefaultMakeCacheSettings, MessageManager: MESSAGES }),
    rest: { api: API, version: '10' },
  });
  for (const name of [
    Events.Error,
    Events.Warn,
    Events.ShardError,
    Events.ShardDisconnect,
    Events.Invalidated,
  ])
    client.on(name, (error) => fault(name, error));
  const shape = [
    'toJSON',
    'cleanContent',
    'createdAt',
    'editedAt',
    'url',
    'position',
    'crosspostable',
    'pinnable',
  ];
  const look = (message) => {
    touch('message', message, shape);
    for (const embed of message.embeds)
      touch('embed', embed, ['toJSON', 'length', 'hexColor', 'image', 'video']);
    for (const component of message.components) touch('component', component, ['toJSON']);
  };
  client.on(Events.MessageUpdate, (_, message) => look(message));
  client.on(Events.PresenceUpdate, (_, presence) => {
    touch('presence', presence, ['toJSON', 'clientStatus', 'member', 'user']);
    for (const activity of presence.activities) {
      touch('activity', activity, ['toString', 'createdAt']);
      if (activity.assets) touch('assets', activity.assets, ['largeImageURL', 'smallImageURL']);
    }
  });
  client.on(Events.ChannelUpdate, (_, channel) =>
    touch('channel', channel, ['toJSON', 'url', 'permissionsLocked']),
  );
  client.on(Events.GuildUpdate, (_, guild) => touch('guild', guild, ['toJSON', 'nameAcronym', 'iconURL']));
  client.on(Events.GuildRoleUpdate, (_, role) =>
    touch('role', role, ['toJSON', 'hexColor', 'iconURL', 'position']),
  );
  client.on(Events.GuildMemberUpdate, (_, member) =>
    touch('member', member, ['toJSON', 'displayName', 'roles']),
  );
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(TOKEN);
  await ready;
  const guild = client.guilds.cache.get(GUILD);
  const channel = guild.channels.cache.get(CHANNEL);
  client.on(Events.MessageCreate, (message) => {
    look(message);
    if (!isSentinel(message)) return;
    sentinel(message.content, {
      messages: async () => (await channel.messages.fetch({ limit: MESSAGES, cache: false })).forEach(look),
      channels: () => guild.channels.fetch(),
      roles: () => guild.roles.fetch(),
      members: () => guild.members.list({ limit: 100 }),
      guild: () => client.guilds.fetch({ guild: GUILD, force: true }),
      invites: () => guild.invites.fetch(),
      audit: () => guild.fetchAuditLogs({ limit: 100 }),
    });
  });
}

async function eris() {
  const { default: Eris } = await import('eris');
  const { hostname, port, pathname } = new URL(API);
  const agent = Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: Number(port) });
  const client = Eris(`Bot ${TOKEN}`, {
    intents: ['all'],
    getAllUsers: true,
    restMode: true,
    messageLimit: MESSAGES,
    rest: { domain: hostname, baseURL: `${pathname}/v10`, agent },
  });
  for (const name of ['error', 'warn', 'shardDisconnect']) client.on(name, (error) => fault(name, error));
  const ready = new Promise((resolve) => client.once('ready', resolve));
  await client.connect();
  await ready;
  const look = (message) =>
    touch('message', message, ['toJSON', 'cleanContent', 'channelMentions', 'jumpLink']);
  client.on('messageUpdate', look);
  client.on('presenceUpdate', (who) => touch('member', who, ['toJSON', 'game', 'activities', 'status']));
  client.on('channelUpdate', (channel) => touch('channel', channel, ['toJSON', 'mention']));
  client.on('guildUpdate', (guild) => touch('guild', guild, ['toJSON', 'iconURL', 'bannerURL']));
  client.on('messageCreate', (message) => {
    look(message);
    if (!isSentinel(message)) return;
    sentinel(message.content, {
      // eris reports an unreadable message as an error, and leaves a null in its place.
      messages: async () =>
        (await client.getMessages(CHANNEL, { limit: MESSAGES }))
          .filter((each) => each !== null)
          .forEach(look),
      channels: () => client.getRESTGuildChannels(GUILD),
      roles: () => client.getRESTGuildRoles(GUILD),
      members: () => client.getRESTGuildMembers(GUILD, { limit: 100 }),
      guild: () => client.getRESTGuild(GUILD, true),
      invites: () => client.getGuildInvites(GUILD),
      audit: () => client.getGuildAuditLog(GUILD, { limit: 50 }),
    });
  });
}

async function oceanic() {
  const { Client } = await import('oceanic.js');
  const client = new Client({
    auth: `Bot ${TOKEN}`,
    gateway: { intents: ['ALL'], getAllUsers: true },
    rest: { baseURL: `${API}/v10` },
    collectionLimits: { messages: MESSAGES },
  });
  for (const name of ['error', 'warn', 'shardDisconnect']) client.on(name, (error) => fault(name, error));
  const ready = new Promise((resolve) => client.once('ready', resolve));
  await client.connect();
  await ready;
  const { channels, guilds } = client.rest;
  const look = (message) => touch('message', message, ['toJSON', 'jumpLink', 'inCachedGuildChannel']);
  client.on('messageUpdate', look);
  client.on('presenceUpdate', (_guild, _member, presence) => JSON.stringify(presence));
  client.on('channelUpdate', (channel) => touch('channel', channel, ['toJSON', 'mention']));
  client.on('guildUpdate', (guild) => touch('guild', guild, ['toJSON', 'iconURL', 'bannerURL']));
  client.on('guildMemberUpdate', (member) => touch('member', member, ['toJSON', 'displayName']));
  client.on('guildRoleUpdate', (role) => touch('role', role, ['toJSON', 'mention']));
  client.on('messageCreate', (message) => {
    look(message);
    if (!isSentinel(message)) return;
    sentinel(message.content, {
      messages: async () => (await channels.getMessages(CHANNEL, { limit: MESSAGES })).forEach(look),
      channels: () => guilds.getChannels(GUILD),
      roles: () => guilds.getRoles(GUILD),
      members: () => guilds.getMembers(GUILD, { limit: 100 }),
      guild: () => guilds.get(GUILD, true),
      invites: () => guilds.getInvites(GUILD),
      audit: () => guilds.getAuditLog(GUILD, { limit: 100 }),
    });
  });
}

await { 'discord.js': reference, eris, 'oceanic.js': oceanic }[KIND]();
process.send({ ready: true });
