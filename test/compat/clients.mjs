/**
 * The published clients that are tried against the server, in the order of the table in docs/compatibility.md.
 *
 * @typedef {object} Client
 * @property {string} name      As the table names it.
 * @property {string} kind      The bot of `libraries.mjs` that is run.
 * @property {readonly string[]} packages What npm installs, each with its version.
 * @property {boolean|string} [voice] True: it joins calls, and is tried in one; a text: why it is not tried.
 * @property {boolean} [commands] False: the library knows no commands.
 * @property {boolean} [tls]    Whether it is tried behind a proxy with TLS.
 * @property {string} [remark] What its row says besides.
 */

const DISCORD_JS = 'discord.js@14.28.1';

const NOT_TRIED = 'not tried';

/** For those that ask for https whatever their base URL says. */
const BEHIND_TLS = 'speaks https only: tried behind a proxy with TLS';

/** @type {readonly Client[]} */
export const CLIENTS = [
  {
    name: 'discord.js 12.5',
    kind: 'discordjs12',
    packages: ['discord.js@12.5.3'],
    commands: false,
    tls: true,
    remark: `${BEHIND_TLS}; asks for version 7, and 9 and 10 are served`,
  },
  {
    name: 'discord.js 13.17',
    kind: 'discordjs13',
    packages: ['discord.js@13.17.1'],
    tls: true,
    remark: BEHIND_TLS,
  },
  {
    name: 'discord.js 14.0',
    kind: 'discordjs',
    packages: ['discord.js@14.0.3', '@discordjs/builders@1.0.0'],
    remark:
      'with @discordjs/builders 1.0: newer ones lack what it imports; stops at a button, as it takes the newer field channel of interactions for its own object',
  },
  { name: 'discord.js 14.28', kind: 'discordjs', packages: [DISCORD_JS] },
  { name: 'eris 0.17', kind: 'eris', packages: ['eris@0.17.2'], voice: true },
  { name: 'eris 0.18', kind: 'eris', packages: ['eris@0.18.0'], voice: true },
  { name: 'oceanic.js 1.8', kind: 'oceanic', packages: ['oceanic.js@1.8.1'], voice: '@discordjs/voice' },
  { name: 'oceanic.js 1.15', kind: 'oceanic', packages: ['oceanic.js@1.15.0'], voice: '@discordjs/voice' },
  { name: 'dysnomia 0.2', kind: 'dysnomia', packages: ['@projectdysnomia/dysnomia@0.2.4'], voice: true },
  { name: 'detritus-client 0.16', kind: 'detritus', packages: ['detritus-client@0.16.3'], voice: NOT_TRIED },
  { name: 'discordeno 21', kind: 'discordeno', packages: ['discordeno@21.0.0'] },
  {
    name: 'seyfert 5.1',
    kind: 'seyfert',
    packages: ['seyfert@5.1.0'],
    tls: true,
    remark:
      'its gateway connection is wss on port 443, whatever the URL says: tried behind a proxy with TLS there',
  },
  {
    name: 'cloudstorm 0.17',
    kind: 'cloudstorm',
    packages: ['cloudstorm@0.17.0'],
    remark: 'asks for Node 22; tried on Node 20, which lacks the Promise.withResolvers of its shutdown',
  },
  { name: 'discord.py 2.2', kind: 'discordpy', packages: [], voice: NOT_TRIED },
  { name: 'sapphire 5.5', kind: 'sapphire', packages: ['@sapphire/framework@5.5.1', DISCORD_JS] },
  {
    name: 'necord 6.14',
    kind: 'necord',
    packages: [
      'necord@6.14.0',
      DISCORD_JS,
      '@nestjs/common@11',
      '@nestjs/core@11',
      'reflect-metadata@0.2',
      'rxjs@7',
    ],
  },
  {
    name: 'discordx 11.13',
    kind: 'discordx',
    packages: ['discordx@11.13.3', DISCORD_JS, 'reflect-metadata@0.2'],
  },
  {
    name: 'slash-create 7.0',
    kind: 'slashcreate',
    packages: ['slash-create@7.0.0', DISCORD_JS],
  },
  { name: 'ShardingManager (discord.js 14.28)', kind: 'sharding', packages: [DISCORD_JS] },
  {
    name: 'discord-hybrid-sharding 3.0',
    kind: 'hybrid',
    packages: ['discord-hybrid-sharding@3.0.1', DISCORD_JS],
  },
  { name: '@discordjs/proxy 2.1', kind: 'proxy', packages: ['@discordjs/proxy@2.1.1', DISCORD_JS] },
  { name: 'discord-player 7.2', kind: 'player', packages: ['discord-player@7.2.0', DISCORD_JS], voice: true },
  { name: 'distube 5.2', kind: 'distube', packages: ['distube@5.2.3', DISCORD_JS], voice: true },
  {
    name: '@discordjs/voice 0.18',
    kind: 'voice',
    packages: ['@discordjs/voice@0.18.0', DISCORD_JS],
    voice: true,
  },
  {
    name: '@discordjs/voice 0.19',
    kind: 'voice',
    packages: ['@discordjs/voice@0.19.2', DISCORD_JS],
    voice: true,
  },
];
