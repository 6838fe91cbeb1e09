import http from 'node:http';
import { join } from 'node:path';

const INTENTS = { GUILDS: 1, VOICE_STATES: 1 << 7, MESSAGES: 1 << 9, CONTENT: 1 << 15 };
const BITS = Object.values(INTENTS).reduce((sum, bit) => sum | bit, 0);

const restOf = ({ api, cdn }) => ({ api, cdn, mediaProxy: cdn, version: '10' });

/** What every client made of discord.js does here. */
function serve(client, given, ready = 'ready') {
  const { step, failed, answer, guildId } = given;
  client.on('error', failed);
  client.once(ready, () => {
    step('ready');
    if (client.guilds.cache.has(guildId)) step('guild');
  });
  client.on('messageCreate', (message) => {
    const reply = answer(message.content);
    if (reply !== null) message.reply(reply).catch(failed);
  });
  return client;
}

async function discordjs(given) {
  const { Client } = given.require('discord.js');
  const client = new Client({ intents: BITS, rest: restOf(given) });
  const ready = given.require('discord.js').Events.ClientReady;
  serve(client, given, ready);
  await client.login(given.token);
  return client;
}

async function discordjs13(given) {
  const { Client } = given.require('discord.js');
  const client = new Client({ intents: BITS, http: { api: given.api, cdn: given.cdn, version: 10 } });
  await serve(client, given).login(given.token);
}

async function discordjs12(given) {
  const { Client } = given.require('discord.js');
  const options = { http: { api: given.api, cdn: given.cdn }, ws: { intents: BITS } };
  const client = serve(new Client(options), given);
  client.on('message', (message) => {
    const reply = given.answer(message.content);
    if (reply !== null) message.channel.send(reply).catch(given.failed);
  });
  await client.login(given.token);
}

/** Eris and its forks: connect, and how they send. */
function erisLike(client, { step, failed, answer, guildId }) {
  client.on('error', failed);
  client.once('ready', () => {
    step('ready');
    if (client.guilds.has(guildId)) step('guild');
  });
  client.on('messageCreate', (message) => {
    const reply = answer(message.content);
    if (reply !== null) client.createMessage(message.channel.id, { content: reply }).catch(failed);
  });
  return client.connect();
}

function eris(given) {
  const { hostname, port, pathname } = new URL(given.api);
  const agent = Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: Number(port) });
  const rest = { domain: hostname, baseURL: `${pathname}/v10`, agent };
  const client = given.require('eris')(`Bot ${given.token}`, { intents: BITS, rest });
  return erisLike(client, given);
}

function dysnomia(given) {
  const { hostname, port, pathname } = new URL(given.api);
  const agent = Object.assign(new http.Agent(), { defaultPort: Number(port) });
  const { Client } = given.require('@projectdysnomia/dysnomia');
  const rest = { domain: hostname, baseURL: `${pathname}/v10`, https: false, port: Number(port), agent };
  const client = new Client(`Bot ${given.token}`, { gateway: { intents: BITS }, rest });
  return erisLike(client, given);
}

async function oceanic(given) {
  const { Client } = given.require('oceanic.js');
  const { step, failed, answer, token, guildId, api } = given;
  const client = new Client({
    auth: `Bot ${token}`,
    rest: { baseURL: `${api}/v10` },
    gateway: { intents: BITS },
  });
  client.on('error', failed);
  client.once('ready', () => {
    step('ready');
    if (client.guilds.has(guildId)) step('guild');
  });
  client.on('messageCreate', (message) => {
    const content = answer(message.content);
    if (content !== null) client.rest.channels.createMessage(message.channelID, { content }).catch(failed);
  });
  await client.connect();
}

async function detritus(given) {
  const { ShardClient } = given.require('detritus-client');
  const { step, failed, answer, token, guildId, api } = given;
  const client = new ShardClient(token, {
    gateway: { intents: BITS, url: undefined },
    rest: { baseUrl: `${api}/v10` },
  });
  client.on('warn', ({ error }) => failed(error));
  client.once('gatewayReady', () => {
    step('ready');
    if (client.guilds.has(guildId)) step('guild');
  });
  client.on('guildCreate', ({ guild }) => guild.id === guildId && step('guild'));
  client.on('messageCreate', ({ message }) => {
    const reply = answer(message.content);
    if (reply !== null) message.reply(reply).catch(failed);
  });
  await client.run();
}

async function discordeno(given) {
  const { createBot } = given.require('discordeno');
  const { step, failed, answer, token, guildId, api } = given;
  const bot = createBot({
    token,
    intents: BITS,
    rest: { token, proxy: { baseUrl: api, authorization: `Bot ${token}` } },
    desiredProperties: {
      message: { id: true, content: true, channelId: true },
      guild: { id: true },
      user: { id: true },
    },
    events: {
      ready: () => step('ready'),
      guildCreate: ({ id }) => String(id) === guildId && step('guild'),
      messageCreate: ({ content, channelId }) => {
        const reply = answer(content);
        if (reply !== null) bot.helpers.sendMessage(channelId, { content: reply }).catch(failed);
      },
    },
  });
  await bot.start();
}

async function seyfert(given) {
  const { ApiHandler, Client, createEvent } = given.require('seyfert');
  const { step, failed, answer, token, guildId, api } = given;
  const configuration = { token, intents: BITS, locations: { base: '.' } };
  const client = new Client({ getRC: () => configuration });
  client.setServices({ rest: new ApiHandler({ token, domain: new URL(api).origin, baseUrl: 'api/v10' }) });
  client.events.onFail = failed;
  client.events.set([
    createEvent({ data: { name: 'botReady', once: true }, run: () => step('ready') }),
    createEvent({ data: { name: 'guildCreate' }, run: ({ id }) => id === guildId && step('guild') }),
    createEvent({
      data: { name: 'messageCreate' },
      run: (message) => {
        const content = answer(message.content);
        if (content !== null) message.write({ content }).catch(failed);
      },
    }),
  ]);
  await client.start();
}

async function cloudstorm(given) {
  const { Client } = given.require('cloudstorm');
  const { SnowTransfer } = given.require('snowtransfer');
  const { step, failed, answer, token, guildId, api } = given;
  const snow = new SnowTransfer(token, { baseHost: new URL(api).origin });
  const client = new Client(token, { intents: BITS, snowtransferInstance: snow });
  client.on('error', failed);
  client.on('event', ({ t, d }) => {
    if (t === 'READY') step('ready');
    else if (t === 'GUILD_CREATE' && d.id === guildId) step('guild');
    else if (t === 'MESSAGE_CREATE' && answer(d.content) !== null)
      snow.channel.createMessage(d.channel_id, { content: answer(d.content) }).catch(failed);
  });
  await client.connect();
}

async function sapphire(given) {
  const { SapphireClient } = given.require('@sapphire/framework');
  const client = new SapphireClient({ intents: BITS, rest: restOf(given), baseUserDirectory: null });
  await serve(client, given, 'clientReady').login(given.token);
}

async function necord(given) {
  given.require('reflect-metadata');
  const { NecordModule } = given.require('necord');
  const { Module } = given.require('@nestjs/common');
  const { NestFactory } = given.require('@nestjs/core');
  const { Client } = given.require('discord.js');
  class Root {}
  Module({
    imports: [NecordModule.forRoot({ token: given.token, intents: BITS, rest: restOf(given) })],
  })(Root);
  const app = await NestFactory.createApplicationContext(Root, { logger: ['error'], abortOnError: false });
  serve(app.get(Client), given, 'clientReady');
}

async function discordx(given) {
  given.require('reflect-metadata');
  const { Client } = given.require('discordx');
  const client = new Client({ intents: BITS, rest: restOf(given), silent: true });
  serve(client, given, 'clientReady');
  client.once('clientReady', () =>
    client.initApplicationCommands().then(
      () => given.step('commands'),
      (error) => given.step('commands failed', String(error.message)),
    ),
  );
  await client.login(given.token);
}

/** Registers a command over REST beside a discord.js client, whose events it takes its interactions from. */
async function slashcreate(given) {
  const { SlashCreator, SlashCommand, GatewayServer } = given.require('slash-create');
  const client = await discordjs(given);
  const creator = new SlashCreator({
    applicationID: Buffer.from(given.token.split('.')[0], 'base64').toString(),
    token: given.token,
    baseURL: `${given.api}/v10`,
    client,
  });
  creator.on('error', given.failed);
  creator.withServer(new GatewayServer((handler) => client.ws.on('INTERACTION_CREATE', handler)));
  creator.registerCommand(
    class extends SlashCommand {
      constructor(owner) {
        super(owner, { name: 'ping', description: 'Answers.' });
      }
    },
  );
  await creator.syncCommands().then(
    () => given.step('commands'),
    (error) => given.step('commands failed', String(error.message)),
  );
}

/** One shard, in a process that this file's bot of discord.js is. */
async function sharding(given) {
  const { ShardingManager } = given.require('discord.js');
  const shardArgs = ['discordjs', given.folder];
  const manager = new ShardingManager(join(import.meta.dirname, 'bot.mjs'), {
    token: given.token,
    totalShards: 1,
    shardArgs,
  });
  await manager.spawn();
}

async function hybrid(given) {
  const { ClusterManager } = given.require('discord-hybrid-sharding');
  const manager = new ClusterManager(join(import.meta.dirname, 'bot.mjs'), {
    token: given.token,
    totalShards: 1,
    totalClusters: 1,
    shardArgs: ['hybridclient', given.folder],
    mode: 'process',
  });
  await manager.spawn({ timeout: 30_000 });
}

async function hybridclient(given) {
  const { Client } = given.require('discord.js');
  const { ClusterClient, getInfo } = given.require('discord-hybrid-sharding');
  const { SHARD_LIST: shards, TOTAL_SHARDS: shardCount } = getInfo();
  const client = new Client({ intents: BITS, rest: restOf(given), shards, shardCount });
  client.cluster = new ClusterClient(client);
  await serve(client, given, 'clientReady').login(given.token);
}

/** The REST of a discord.js bot through the proxy, which asks the server. */
async function proxy(given) {
  const { proxyRequests } = given.require('@discordjs/proxy');
  const { REST } = given.require('@discordjs/rest');
  const rest = new REST({ api: given.api, version: '10', rejectOnRateLimit: () => true }).setToken(
    given.token,
  );
  const server = http.createServer(proxyRequests(rest));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  await discordjs({ ...given, api: `http://127.0.0.1:${server.address().port}/api` });
}

/** Joins upon `!join`, and reports the states of the connection. */
async function inVoice(given, join) {
  const client = await discordjs(given);
  client.on('messageCreate', (message) => {
    if (message.content !== '!join') return;
    const channel = client.channels.cache.get(given.voiceChannelId);
    Promise.resolve(join(channel, client)).then(
      () => given.step('voice'),
      (error) => given.step('voice failed', String(error.message ?? error)),
    );
  });
}

async function voice(given) {
  const { joinVoiceChannel, entersState } = given.require('@discordjs/voice');
  await inVoice(given, ({ id, guild }) => {
    const connection = joinVoiceChannel({
      channelId: id,
      guildId: guild.id,
      adapterCreator: guild.voiceAdapterCreator,
    });
    return entersState(connection, 'ready', 10_000).catch(() => {
      connection.destroy();
      throw new Error(`not ready after 10 s and ${connection.rejoinAttempts} attempts to join again`);
    });
  });
}

async function player(given) {
  const { Player } = given.require('discord-player');
  let made = null;
  await inVoice(given, async (channel, client) => {
    made ??= new Player(client, { skipFFmpeg: true });
    const queue = made.nodes.create(channel.guild);
    await queue.connect(channel, { timeout: 10_000 });
  });
}

async function distube(given) {
  const { DisTube } = given.require('distube');
  let made = null;
  await inVoice(given, async (channel, client) => {
    made ??= new DisTube(client);
    await made.voices.join(channel);
  });
}

export const LIBRARIES = {
  ...{ discordjs, discordjs12, discordjs13, eris, dysnomia, oceanic, detritus, discordeno, seyfert },
  ...{ cloudstorm, sapphire, necord, discordx, slashcreate, sharding, hybrid, hybridclient, proxy },
  ...{ voice, player, distube },
};
