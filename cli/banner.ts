import { isIPv6 } from 'node:net';
import { isLoopback } from '../config/config.ts';
import type { Addresses } from '../embedding.ts';
import { RECIPES } from './connect.ts';
import type { Demo } from './demo.ts';

/** The content of the banner of `guildhall dev`. */
export interface DevReport {
  readonly addresses: Addresses;
  readonly admin: { readonly url: string; readonly token: string };
  readonly demo: Demo;
  readonly playground: PlaygroundAddress;
  /** A link that signs a browser in to the console, once; absent with several shards. */
  readonly consoleLink?: string;
  /** The shard processes; absent for a single process. */
  readonly shards?: readonly ShardPid[];
}

export interface PlaygroundAddress {
  readonly url: string;
  /** Signs a browser in once; null with several shards, where the page asks for a token. */
  readonly link: string | null;
}

export interface ShardPid {
  readonly id: string;
  readonly pid: number | null;
}

/** Equal to `ROOM_PATH` of `transports/http/web.ts`, which would import more than a banner needs. */
const ROOM_PATH = '/voice-room/';
const PLAYERS_PATH = `${ROOM_PATH}players/`;

/** Voice addresses for JSON output; null when calls are not served. */
export const voiceJson = ({ voice }: Addresses): object | null =>
  voice && { endpoint: voice.endpoint, udp_port: voice.udpPort };

/**
 * The one JSON line of `guildhall dev --json`: a contract for tools. `ca_file` is the certificate that voice clients must
 * trust; null when they need none.
 */
export function devJson({ addresses, admin, demo, playground, consoleLink, shards }: DevReport): object {
  const { application, bots, users, player, guild } = demo;
  const [{ id, token } = { id: '', token: '' }] = bots;
  return {
    api: addresses.api,
    gateway: addresses.gateway,
    cdn: addresses.cdn,
    admin,
    playground,
    ...(consoleLink !== undefined && { console: consoleLink }),
    application,
    bot: { id, token },
    bots,
    users,
    player,
    guild,
    ca_file: addresses.voice?.caFile ?? null,
    voice: voiceJson(addresses),
    ...(shards && { shards }),
  };
}

/** Names the shard processes. */
export const shardLine = (shards: readonly ShardPid[]): string =>
  `  Shards   ${shards.map(({ id, pid }) => `${id} (process ${pid})`).join(', ')}`;

/** Shows where calls are served, the page to join them, and how a bot trusts their certificate. */
export function voiceLines({ voice, cdn }: Addresses): string[] {
  if (!voice) return [];
  // A proxy that adds TLS to the server also adds it to the voice gateway on the same address.
  const scheme = voice.secure || cdn.startsWith('https:') ? 'wss' : 'ws';
  const trust = `           For bots in voice: NODE_EXTRA_CA_CERTS=${voice.caFile} node bot.mjs`;
  const room = `           In a browser: ${cdn}${ROOM_PATH}, signed in with a user's token`;
  const browsers = `${isIPv6(voice.webrtcAddress) ? `[${voice.webrtcAddress}]` : voice.webrtcAddress}:${voice.webrtcPort}`;
  const firefox = `           Firefox sends no calls to ${voice.webrtcAddress}; start with --voice-address auto to use it`;
  return [
    `  Voice    ${scheme}://${voice.endpoint}   UDP ${voice.udpPort}, browsers ${browsers}`,
    room,
    ...(isLoopback(voice.webrtcAddress) ? [firefox] : []),
    ...(voice.caFile === null ? [] : [trust]),
  ];
}

/** The banner of `guildhall dev`: addresses, tokens, and lines to paste. */
export function devBanner(
  { addresses, admin, demo, playground, consoleLink, shards }: DevReport,
  version: string,
  kept: string | null,
): string[] {
  const recipe = RECIPES['discord.js']!;
  const token = demo.bots[0]?.token ?? '';
  const [speaker] = demo.users;
  const messages = `${addresses.api}/v10/channels/${demo.guild.text_channel_id}/messages`;
  return [
    ``,
    `  Guildhall ${version}  ·  ${kept === null ? 'in memory: gone when you stop it' : `kept in ${kept}`}`,
    ``,
    `  Open     ${playground.link ?? playground.url}`,
    playground.link === null
      ? `           the playground; sign in with a token below`
      : `           the playground; this link signs you in once, as ${speaker?.name ?? 'a user'}, within 15 minutes`,
    ...(consoleLink === undefined ? [] : [`  Console  ${consoleLink}   (once)`]),
    ``,
    `  API      ${addresses.api}`,
    `  Gateway  ${addresses.gateway}`,
    `  Docs     ${addresses.cdn}/docs/`,
    ...voiceLines(addresses),
    `  Admin    ${admin.url}   token ${admin.token}`,
    ...(shards ? [shardLine(shards)] : []),
    `  Players  ${addresses.cdn}${PLAYERS_PATH}?application=${demo.application.id}`,
    `  Player token  ${demo.player.token}   (for guildhall/sdk)`,
    `  Bot      ${token}`,
    ...demo.users.map(({ name, token: own }) => `  ${name.padEnd(8)} ${own}   (a user: Bearer token)`),
    ``,
    `  Connect a bot: npm install ${recipe.packages.join(' ')}, save this as bot.mjs, node bot.mjs`,
    ``,
    ...recipe.lines({ api: addresses.api, cdn: addresses.cdn, token }).map((line) => `    ${line}`.trimEnd()),
    ``,
    `  Then speak as ${speaker?.name ?? 'a user'}:`,
    ``,
    `    curl -H 'Authorization: Bearer ${speaker?.token ?? ''}' -H 'Content-Type: application/json' \\`,
    `      -d '{"content":"!ping"}' ${messages}`,
    ``,
    `  Other libraries: guildhall connect --help. Stop with Ctrl-C.`,
    ``,
  ];
}
