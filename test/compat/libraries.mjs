import http from 'node:http';
import { join } from 'node:path';

const INTENTS = { GUILDS: 1, VOICE_STATES: 1 << 7, MESSAGES: 1 << 9, CONTENT: 1 << 15 };
const BITS = Object.values(INTENTS).reduce((sum, bit) => sum | bit, 0);

const VOICE_MS = 10_000;

/** The slash command that each bot registers as its library documents, the answer with a button, and the button's answer. */
const COMMAND = { name: 'compat', description: 'Answers with a button.' };
const BUTTON = { id: 'press', label: 'Press' };
const ROWS = [{ type: 1, components: [{ type: 2, style: 1, custom_id: BUTTON.id, label: BUTTON.label }] }];
const ANSWERED = 'pong command';
const PRESSED = 'pong button';
const TYPE = { COMMAND: 2, COMPONENT: 3 };
const MESSAGE_REPLY = 4;
/** The answers as the API names their fields, for the libraries that pass them on. */
const ANSWERS = {
  [TYPE.COMMAND]: { content: ANSWERED, components: ROWS },
  [TYPE.COMPONENT]: { content: PRESSED },
};
/** For the libraries whose fields are in camelCase. */
const CAMEL_ANSWERS = (idKey) => ({
  [TYPE.COMMAND]: {
    content: ANSWERED,
    components: [{ type: 1, components: [{ type: 2, style: 1, label: BUTTON.label, [idKey]: BUTTON.id }] }],
  },
  [TYPE.COMPONENT]: { content: PRESSED },
});

const restOf = ({ api, cdn }) => ({ api, cdn, mediaProxy: cdn, version: '10' });

/**
 * Registers the handlers of every client made of discord.js. A framework has commands of its own: `commands` is null then.
 */
function serve(
  client,
  given,
  { ready = 'ready', join, bye = () => client.destroy(), commands = [COMMAND] } = {},
) {
  const { step, failed, heard, guildId } = given;
  client.on('error', failed);
  client.once(ready, () => {
    step('ready');
    if (client.guilds.cache.has(guildId)) step('guild');
    if (commands) given.attempt('commands', () => client.application.commands.set(commands));
  });
  client.on('messageCreate', (message) =>
    heard(message.content, { reply: (text) => message.reply(text), bye, join }),
  );
  if (commands)
    client.on('interactionCreate', async (interaction) => {
      // discord.js 13 names the type, later versions have its number.
      if (['APPLICATION_COMMAND', TYPE.COMMAND].includes(interaction.type))
        await interaction.reply(ANSWERS[TYPE.COMMAND]);
      else if (interaction.isButton()) await interaction.reply(ANSWERS[TYPE.COMPONENT]);
    });
  return client;
}

async function discordjs(given, join, commands) {
  const { Client, Events } = given.require('discord.js');
  const client = new Client({ intents: BITS, rest: restOf(given) });
  serve(client, given, {
    ready: Events.ClientReady,
    ...{ join: join && (() => join(client)), commands },
  });
  await client.login(given.token);
  return client;
}

async function discordjs13(given) {
  const { Client } = given.require('discord.js');
  const client = new Client({ intents: BITS, http: { api: given.api, cdn: given.cdn } });
  await serve(client, given).login(given.token);
}

async function discordjs12(given) {
  const { Client } = given.require('discord.js');
  const options = { http: { api: given.api, cdn: given.cdn }, ws: { intents: BITS } };
  const client = serve(new Client(options), given, { commands: null });
  client.on('message', (message) =>
    given.heard(message.content, {
      reply: (text) => message.channel.send(text),
      bye: () => client.destroy(),
    }),
  );
  await client.login(given.token);
}

const within = (promise, what) =>
  Promise.race([
    promise,
    new Promise((_, failed) =>
      setTimeout(() => failed(new Error(`${what} after ${VOICE_MS / 1000} s`)), VOICE_MS),
    ),
  ]);

/** Eris and its forks: connect, and how they send. */
function erisLike(client, { step, failed, heard, attempt, guildId, voiceChannelId }) {
  client.on('error', failed);
  client.once('ready', () => {
    // It says that it is offline unless it is told what to say.
    client.editStatus('online');
    step('ready');
    if (client.guilds.has(guildId)) step('guild');
    attempt('commands', () => client.createCommand({ ...COMMAND, type: 1 }));
  });
  client.on('interactionCreate', (one) => one.createMessage(ANSWERS[one.type]).catch(failed));
  client.on('messageCreate', (message) =>
    heard(message.content, {
      reply: (content) => client.createMessage(message.channel.id, { content }),
      bye: () => client.disconnect({ reconnect: false }),
      join: () => within(client.joinVoiceChannel(voiceChannelId), 'not ready'),
    }),
  );
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
  const { step, failed, heard, attempt, token, guildId, api } = given;
  const answers = CAMEL_ANSWERS('customID');
  const client = new Client({
    auth: `Bot ${token}`,
    rest: { baseURL: `${api}/v10` },
    gateway: { intents: BITS },
  });
  client.on('error', failed);
  client.once('ready', () => {
    step('ready');
    if (client.guilds.has(guildId)) step('guild');
    attempt('commands', () => client.application.createGlobalCommand({ ...COMMAND, type: 1 }));
  });
  client.on('interactionCreate', (one) => one.createMessage(answers[one.type]).catch(failed));
  client.on('messageCreate', (message) =>
    heard(message.content, {
      reply: (content) => client.rest.channels.createMessage(message.channelID, { content }),
      bye: () => client.disconnect(false),
    }),
  );
  await client.connect();
}

async function detritus(given) {
  const { ShardClient } = given.require('detritus-client');
  const { step, failed, heard, attempt, token, guildId, api } = given;
  const answers = CAMEL_ANSWERS('customId');
  const client = new ShardClient(token, { gateway: { intents: BITS }, rest: { baseUrl: `${api}/v10` } });
  client.on('warn', ({ error }) => failed(error));
  client.once('gatewayReady', () => {
    step('ready');
    if (client.guilds.has(guildId)) step('guild');
    attempt('commands', () => client.rest.createApplicationCommand(client.applicationId, COMMAND));
  });
  client.on('interactionCreate', ({ interaction }) =>
    interaction.respond(MESSAGE_REPLY, answers[interaction.type]).catch(failed),
  );
  client.on('guildCreate', ({ guild }) => guild.id === guildId && step('guild'));
  client.on('messageCreate', ({ message }) =>
    heard(message.content, { reply: (text) => message.reply(text), bye: () => client.kill() }),
  );
  await client.run();
}

async function discordeno(given) {
  const { createBot } = given.require('discordeno');
  const { step, failed, heard, attempt, token, guildId, api } = given;
  const answers = CAMEL_ANSWERS('customId');
  const bot = createBot({
    token,
    intents: BITS,
    rest: { token, proxy: { baseUrl: api, authorization: `Bot ${token}` } },
    desiredProperties: {
      message: { id: true, content: true, channelId: true },
      guild: { id: true },
      interaction: { id: true, token: true, type: true },
      user: { id: true },
    },
    events: {
      ready: () => {
        step('ready');
        attempt('commands', () => bot.helpers.createGlobalApplicationCommand(COMMAND));
      },
      interactionCreate: (one) => one.respond(answers[one.type]).catch(failed),
      guildCreate: ({ id }) => String(id) === guildId && step('guild'),
      messageCreate: ({ content: text, channelId }) =>
        heard(text, {
          reply: (content) => bot.helpers.sendMessage(channelId, { content }),
          bye: () => bot.shutdown(),
        }),
    },
  });
  await bot.start();
}

async function seyfert(given) {
  const { ActionRow, ApiHandler, Button, Client, Command, ComponentCommand, Declare, createEvent } =
    given.require('seyfert');
  const { attempt, step, failed, heard, token, guildId, api } = given;
  const configuration = { token, intents: BITS, locations: { base: '.' } };
  const client = new Client({ getRC: () => configuration });
  client.setServices({ rest: new ApiHandler({ token, domain: new URL(api).origin, baseUrl: 'api/v10' }) });
  client.events.onFail = (_event, error) => failed(error);
  const button = new Button().setCustomId(BUTTON.id).setLabel(BUTTON.label).setStyle(1);
  const components = [new ActionRow().addComponents(button)];
  const Answering = Declare(COMMAND)(
    class extends Command {
      run(context) {
        return context.write({ content: ANSWERED, components });
      }
    },
  );
  class Pressing extends ComponentCommand {
    componentType = 'Button';
    customId = BUTTON.id;
    run(context) {
      return context.write({ content: PRESSED });
    }
  }
  client.commands.set([Answering]);
  client.components.set([Pressing]);
  const ready = async () => {
    step('ready');
    if (await client.cache.guilds?.get(guildId)) step('guild');
    attempt('commands', () => client.uploadCommands());
  };
  const message = (one) =>
    heard(one.content, {
      reply: (content) => one.write({ content }),
      bye: () => client.gateway.disconnectAll(),
    });
  client.events.set([
    createEvent({ data: { name: 'botReady', once: true }, run: ready }),
    createEvent({ data: { name: 'messageCreate' }, run: message }),
  ]);
  await client.start();
}

async function cloudstorm(given) {
  const { Client } = given.require('cloudstorm');
  const { SnowTransfer } = given.require('snowtransfer');
  const { step, failed, heard, attempt, token, guildId, api } = given;
  const snow = new SnowTransfer(token, { baseHost: new URL(api).origin });
  const client = new Client(token, { intents: BITS, snowtransferInstance: snow });
  client.on('error', failed);
  client.on('event', ({ t, d }) => {
    if (t === 'READY') {
      step('ready');
      attempt('commands', () => snow.interaction.createApplicationCommand(d.application.id, COMMAND));
    } else if (t === 'INTERACTION_CREATE')
      snow.interaction
        .createInteractionResponse(d.id, d.token, { type: MESSAGE_REPLY, data: ANSWERS[d.type] })
        .catch(failed);
    else if (t === 'GUILD_CREATE' && d.id === guildId) step('guild');
    else if (t === 'MESSAGE_CREATE')
      heard(d.content, {
        reply: (content) => snow.channel.createMessage(d.channel_id, { content }),
        bye: () => client.disconnect(),
      });
  });
  await client.connect();
}

async function sapphire(given) {
  const { Command, InteractionHandler, InteractionHandlerTypes, SapphireClient } =
    given.require('@sapphire/framework');
  const client = new SapphireClient({ intents: BITS, rest: restOf(given), baseUserDirectory: null });
  class Answering extends Command {
    registerApplicationCommands(registry) {
      registry.registerChatInputCommand(COMMAND);
    }
    chatInputRun(interaction) {
      return interaction.reply(ANSWERS[TYPE.COMMAND]);
    }
  }
  class Pressing extends InteractionHandler {
    constructor(context, options) {
      super(context, { ...options, interactionHandlerType: InteractionHandlerTypes.Button });
    }
    parse({ customId }) {
      return customId === BUTTON.id ? this.some() : this.none();
    }
    run(interaction) {
      return interaction.reply(ANSWERS[TYPE.COMPONENT]);
    }
  }
  client.stores.loadPiece({ store: 'commands', name: COMMAND.name, piece: Answering });
  client.stores.loadPiece({ store: 'interaction-handlers', name: BUTTON.id, piece: Pressing });
  await serve(client, given, { ready: 'clientReady', commands: null }).login(given.token);
}

/** Applies a decorator to a method, as TypeScript does. */
function decorate(owner, method, decorator) {
  const { prototype } = owner;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  Object.defineProperty(prototype, method, decorator(prototype, method, descriptor) ?? descriptor);
}

/** A module of Nest that is given the client before it logs in, which it does while the application is made. */
async function necord(given) {
  given.require('reflect-metadata');
  const { Button, Context, NecordModule, SlashCommand } = given.require('necord');
  const { Inject, Module } = given.require('@nestjs/common');
  const { NestFactory } = given.require('@nestjs/core');
  const { Client } = given.require('discord.js');
  const application = { made: null };
  class Root {
    constructor(client) {
      const bye = () => application.made.close();
      serve(client, given, { ready: 'clientReady', bye, commands: null });
    }
  }
  class Answering {
    answer([interaction]) {
      return interaction.reply(ANSWERS[TYPE.COMMAND]);
    }
    press([interaction]) {
      return interaction.reply(ANSWERS[TYPE.COMPONENT]);
    }
  }
  Context()(Answering.prototype, 'answer', 0);
  Context()(Answering.prototype, 'press', 0);
  decorate(Answering, 'answer', SlashCommand(COMMAND));
  decorate(Answering, 'press', Button(BUTTON.id));
  Inject(Client)(Root, undefined, 0);
  Module({
    providers: [Answering],
    imports: [NecordModule.forRoot({ token: given.token, intents: BITS, rest: restOf(given) })],
  })(Root);
  const options = { logger: ['error'], abortOnError: false };
  application.made = await NestFactory.createApplicationContext(Root, options);
}

async function discordx(given) {
  given.require('reflect-metadata');
  const { ButtonComponent, Client, Discord, Slash } = given.require('discordx');
  class Answering {
    answer(interaction) {
      return interaction.reply(ANSWERS[TYPE.COMMAND]);
    }
    press(interaction) {
      return interaction.reply(ANSWERS[TYPE.COMPONENT]);
    }
  }
  decorate(Answering, 'answer', Slash(COMMAND));
  decorate(Answering, 'press', ButtonComponent({ id: BUTTON.id }));
  Discord()(Answering);
  const client = new Client({ intents: BITS, rest: restOf(given), silent: true });
  serve(client, given, { ready: 'clientReady', commands: null });
  client.on('interactionCreate', (interaction) => client.executeInteraction(interaction));
  client.once('clientReady', () => given.attempt('commands', () => client.initApplicationCommands()));
  await client.login(given.token);
}

/** Registers a command over REST beside a discord.js client, whose events it takes its interactions from. */
async function slashcreate(given) {
  const { SlashCreator, SlashCommand, GatewayServer } = given.require('slash-create');
  const client = await discordjs(given, null, null);
  const creator = new SlashCreator({
    applicationID: client.application.id,
    token: given.token,
    rest: { baseURL: `${given.api}/v10` },
    client,
  });
  creator.on('error', given.failed);
  creator.withServer(new GatewayServer((handler) => client.ws.on('INTERACTION_CREATE', handler)));
  creator.registerCommand(
    class extends SlashCommand {
      constructor(owner) {
        super(owner, COMMAND);
      }
      async run(context) {
        await context.send(ANSWERS[TYPE.COMMAND]);
      }
    },
  );
  creator.registerGlobalComponent(BUTTON.id, (pressed) => pressed.send(ANSWERS[TYPE.COMPONENT]));
  await given.attempt('commands', () => creator.syncCommands());
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
  await serve(client, given, { ready: 'clientReady' }).login(given.token);
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

const channelOf = (client, { voiceChannelId }) => client.channels.cache.get(voiceChannelId);

async function voice(given) {
  const { joinVoiceChannel, entersState } = given.require('@discordjs/voice');
  await discordjs(given, async (client) => {
    const { id, guild } = channelOf(client, given);
    const connection = joinVoiceChannel({
      channelId: id,
      guildId: guild.id,
      adapterCreator: guild.voiceAdapterCreator,
    });
    await entersState(connection, 'ready', VOICE_MS).catch(() => {
      connection.destroy();
      throw new Error(
        `not ready after ${VOICE_MS / 1000} s and ${connection.rejoinAttempts} attempts to join again`,
      );
    });
  });
}

async function player(given) {
  const { Player } = given.require('discord-player');
  await discordjs(given, async (client) => {
    const channel = channelOf(client, given);
    const queue = new Player(client, { skipFFmpeg: true }).nodes.create(channel.guild);
    await queue.connect(channel, { timeout: VOICE_MS });
  });
}

async function distube(given) {
  const { DisTube } = given.require('distube');
  await discordjs(given, (client) => new DisTube(client).voices.join(channelOf(client, given)));
}

export const LIBRARIES = {
  ...{ discordjs, discordjs12, discordjs13, eris, dysnomia, oceanic, detritus, discordeno, seyfert },
  ...{ cloudstorm, sapphire, necord, discordx, slashcreate, sharding, hybrid, hybridclient, proxy },
  ...{ voice, player, distube },
};
