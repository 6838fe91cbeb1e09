/** The server and credentials of a client. */
interface Target {
  /** Base URL of the API, ending in `/api`. */
  readonly api: string;
  readonly cdn: string;
  readonly token: string;
}

/** How to start a bot with one library: the packages to install and the lines of `bot.mjs`. */
interface Recipe {
  readonly packages: readonly string[];
  /** Environment variable that the library needs for `node bot.mjs`. */
  readonly environment?: string;
  /** The message to write in a channel to test the bot; `!ping` by default. */
  readonly trigger?: string;
  lines(target: Target): string[];
}

/** Line with which a bot logs its answers, so that its terminal shows that it works. */
const ANSWERED = (name: string) => `console.log(\`pong to \${${name}}\`);`;
const GREETING = (name: string) => `console.log(\`\${${name}} is online\`)`;

const classic: Recipe = {
  packages: ['discord.js'],
  lines: ({ api, cdn, token }) => [
    `import { Client, Events, GatewayIntentBits as Intents } from 'discord.js';`,
    ``,
    `const client = new Client({`,
    `  intents: [Intents.Guilds, Intents.GuildMessages, Intents.MessageContent],`,
    `  rest: { api: '${api}', cdn: '${cdn}', mediaProxy: '${cdn}', version: '10' },`,
    `});`,
    `client.once(Events.ClientReady, (ready) => ${GREETING('ready.user.tag')});`,
    `client.on(Events.MessageCreate, async (message) => {`,
    `  if (message.content !== '!ping') return;`,
    `  await message.reply('pong');`,
    `  ${ANSWERED('message.author.username')}`,
    `});`,
    `await client.login('${token}');`,
  ],
};

const voice: Recipe = {
  // With an explicit version: npm on Node 20 would choose an older one without end-to-end encryption.
  packages: ['discord.js', '@discordjs/voice@0.19.2'],
  environment: 'NODE_EXTRA_CA_CERTS=<ca_file of guildhall dev>',
  trigger: '!join',
  lines: ({ api, cdn, token }) => [
    `import { Readable } from 'node:stream';`,
    `import * as voice from '@discordjs/voice';`,
    `import { Client, Events, GatewayIntentBits as Intents } from 'discord.js';`,
    ``,
    `const client = new Client({`,
    `  intents: [Intents.Guilds, Intents.GuildVoiceStates, Intents.GuildMessages, Intents.MessageContent],`,
    `  rest: { api: '${api}', cdn: '${cdn}', mediaProxy: '${cdn}', version: '10' },`,
    `});`,
    `client.once(Events.ClientReady, (ready) => ${GREETING('ready.user.tag')});`,
    `client.on(Events.MessageCreate, async ({ content, guild }) => {`,
    `  if (content !== '!join') return;`,
    `  const channel = guild.channels.cache.find((each) => each.isVoiceBased());`,
    `  const connection = voice.joinVoiceChannel({`,
    `    channelId: channel.id, guildId: guild.id, adapterCreator: guild.voiceAdapterCreator, selfDeaf: false,`,
    `  });`,
    `  await voice.entersState(connection, voice.VoiceConnectionStatus.Ready, 15_000);`,
    `  const player = voice.createAudioPlayer();`,
    `  connection.subscribe(player);`,
    `  const inputType = voice.StreamType.OggOpus;`,
    `  // Any Opus in Ogg does; of a file of your own: createReadStream('song.ogg').`,
    `  const { body } = await fetch('${cdn}/voice-room/chime.ogg');`,
    `  player.play(voice.createAudioResource(Readable.fromWeb(body), { inputType }));`,
    `  console.log(\`playing in \${channel.name}\`);`,
    `});`,
    `await client.login('${token}');`,
  ],
};

const split: Recipe = {
  packages: ['@discordjs/core', '@discordjs/rest', '@discordjs/ws'],
  lines: ({ api, token }) => [
    `import { Client, GatewayDispatchEvents, GatewayIntentBits as Intents } from '@discordjs/core';`,
    `import { REST } from '@discordjs/rest';`,
    `import { WebSocketManager } from '@discordjs/ws';`,
    ``,
    `const token = '${token}';`,
    `const rest = new REST({ api: '${api}', version: '10' }).setToken(token);`,
    `const intents = Intents.Guilds | Intents.GuildMessages | Intents.MessageContent;`,
    `const gateway = new WebSocketManager({ token, intents, rest });`,
    `const client = new Client({ rest, gateway });`,
    `client.once(GatewayDispatchEvents.Ready, ({ data }) => ${GREETING('data.user.username')});`,
    `client.on(GatewayDispatchEvents.MessageCreate, async ({ api, data }) => {`,
    `  if (data.content !== '!ping') return;`,
    `  await api.channels.createMessage(data.channel_id, { content: 'pong' });`,
    `  ${ANSWERED('data.author.username')}`,
    `});`,
    `await gateway.connect();`,
  ],
};

const eris: Recipe = {
  packages: ['eris'],
  lines: ({ api, token }) => {
    const { protocol, hostname, port, pathname } = new URL(api);
    const secure = protocol === 'https:';
    const plainAgent = [
      `// Eris always asks for https; this agent lets it speak plain HTTP to a server of your own.`,
      `const agent = new http.Agent();`,
      `agent.protocol = 'https:';`,
      `agent.defaultPort = ${port || 80};`,
    ];
    const secureAgent = [`const agent = new https.Agent();`, `agent.defaultPort = ${port || 443};`];
    return [
      secure ? `import https from 'node:https';` : `import http from 'node:http';`,
      `import Eris from 'eris';`,
      ``,
      ...(secure ? secureAgent : plainAgent),
      `const bot = new Eris('Bot ${token}', {`,
      `  intents: ['guilds', 'guildMessages', 'messageContent'],`,
      `  rest: { domain: '${hostname}', baseURL: '${pathname}/v10', agent },`,
      `});`,
      `bot.once('ready', () => ${GREETING('bot.user.username')});`,
      `bot.on('error', (error) => console.error(error));`,
      `bot.on('messageCreate', async (message) => {`,
      `  if (message.content !== '!ping') return;`,
      `  await message.channel.createMessage('pong');`,
      `  ${ANSWERED('message.author.username')}`,
      `});`,
      `bot.connect();`,
    ];
  },
};

const oceanic: Recipe = {
  packages: ['oceanic.js'],
  lines: ({ api, token }) => [
    `import { Client } from 'oceanic.js';`,
    ``,
    `const client = new Client({`,
    `  auth: 'Bot ${token}',`,
    `  gateway: { intents: ['GUILDS', 'GUILD_MESSAGES', 'MESSAGE_CONTENT'] },`,
    `  rest: { baseURL: '${api}/v10' },`,
    `});`,
    `client.once('ready', () => ${GREETING('client.user.tag')});`,
    `client.on('error', (error) => console.error(error));`,
    `client.on('messageCreate', async (message) => {`,
    `  if (message.content !== '!ping') return;`,
    `  await client.rest.channels.createMessage(message.channelID, { content: 'pong' });`,
    `  ${ANSWERED('message.author.username')}`,
    `});`,
    `await client.connect();`,
  ],
};

/** The known libraries, by package. */
export const RECIPES: Readonly<Record<string, Recipe>> = {
  'discord.js': classic,
  '@discordjs/voice': voice,
  '@discordjs/core': split,
  eris,
  'oceanic.js': oceanic,
};
