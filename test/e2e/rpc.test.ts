// Goal: unmodified RPC libraries connect to `guildhall rpc` over its local socket, and a discord.js bot sees what they show.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client as Modern } from '@xhayper/discord-rpc';
import { Client, Events, GatewayIntentBits } from 'discord.js';
import Revamp from 'discord-rpc-revamp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { classicRpc as classic } from '../support/classicrpc.ts';
import { oggOpus } from '../support/ogg.ts';
import { ROOT } from '../support/root.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const soon = { timeout: 15_000, interval: 100 };
const ORIGIN = 'https://game.example.org';
const TONE_HZ = 440;

interface Serving {
  readonly child: ChildProcess;
  readonly path: string;
  readonly port: number | null;
  readonly room: string | null;
}

/** Fields of a voice event. */
interface Spoken {
  readonly state: string;
  readonly user: { readonly id: string };
}

let server: TestServer;
let bot: Client;
let singer: VoiceBot;
let folder: string;
const children = new Set<ChildProcess>();

async function cli(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, XDG_RUNTIME_DIR: folder, XDG_CONFIG_HOME: folder, ...env },
  });
  children.add(child);
  return { child, lines: createInterface({ input: child.stdout }) };
}

async function serve(): Promise<Serving> {
  const approved = server.info.bots.flatMap(({ application_id: id }) => ['--approve', id]);
  const { child, lines } = await cli(['rpc', '--json', ...approved], {
    NODE_EXTRA_CA_CERTS: server.info.ca_file ?? '',
  });
  const [line] = await once(lines, 'line');
  return { child, ...(JSON.parse(String(line)) as Omit<Serving, 'child'>) };
}

async function end({ child }: Pick<Serving, 'child'>, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await once(child, 'exit');
  children.delete(child);
}

const shown = () =>
  bot.guilds.cache.get(server.info.guild.id)?.presences.cache.get(server.info.users[0]!.id)?.activities ?? [];
const applicationOf = (index: number) => server.info.bots[index]!.application_id;

let serving: Serving;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-rpc-'));
  process.env.XDG_RUNTIME_DIR = folder;
  server = await startServer({ bots: 6 });
  const { application_id: first } = server.info.bots[0]!;
  await server.admin(`/applications/${first}/oauth2`, {
    redirect_uris: ['http://127.0.0.1/callback'],
    public_client: false,
    approved_scopes: ['rpc', 'rpc.voice.read', 'rpc.voice.write'],
    rpc_origins: [ORIGIN],
  });
  await writeFile(join(folder, 'tone.ogg'), oggOpus(toneFrames(TONE_HZ, 2)));
  singer = new VoiceBot({
    ...{ api: server.info.api, token: server.info.bots[5]!.token, caFile: server.info.ca_file! },
  });
  await singer.do('login');
  bot = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildPresences],
    rest: { api: server.info.api },
  });
  const ready = once(bot, Events.ClientReady);
  await bot.login(server.info.bots[0]!.token);
  await ready;
  const guild = await bot.guilds.fetch(server.info.guild.id);
  await guild.members.fetch(server.info.users[0]!.id);
});
afterAll(async () => {
  await bot?.destroy();
  singer?.end();
  for (const child of children) child.kill('SIGKILL');
  await server?.finish();
  await rm(folder, { recursive: true, force: true });
});

describe('guildhall login', () => {
  test('keeps the token of a device that the person has confirmed in a file of mode 0600', async () => {
    const { child, lines } = await cli(['login', '--json', '--url', server.info.api], {});
    const [line] = await once(lines, 'line');
    const { user_code } = JSON.parse(String(line)) as { user_code: string };
    const finished = await fetch(`${server.info.api}/v10/oauth2/device/finish`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.info.users[0]!.token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ user_code, result: 'granted' }),
    });
    expect(finished.status).toBe(204);
    expect((await once(child, 'exit'))[0]).toBe(0);
    children.delete(child);
    const path = join(folder, 'guildhall/credentials.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      user_id: server.info.users[0]!.id,
      username: server.info.users[0]!.name,
    });
  });
});

describe('guildhall rpc', () => {
  beforeAll(async () => {
    serving = await serve();
  });

  test('listens on a socket that only its user may connect to', async () => {
    expect(serving.path).toBe(join(folder, 'discord-ipc-0'));
    expect((await stat(serving.path)).mode & 0o777).toBe(0o600);
  });

  test('shows the activity of discord-rpc to a discord.js bot, until the game ends', async () => {
    const game = new classic.Client({ transport: 'ipc' });
    await game.login({ clientId: applicationOf(1) });
    expect(game.user?.username).toBe(server.info.users[0]!.name);
    await game.setActivity({
      ...{ state: 'In the arena', details: 'Round 2', startTimestamp: 1_700_000_000, instance: true },
      ...{ largeImageKey: 'arena', partyId: 'party', partySize: 1, partyMax: 4 },
    });
    await expect.poll(() => shown()[0]?.state, soon).toBe('In the arena');
    expect(shown()[0]).toMatchObject({
      ...{ applicationId: applicationOf(1), details: 'Round 2', type: 0 },
      party: { id: 'party', size: [1, 4] },
    });
    await expect(game.request('GET_GUILDS')).rejects.toMatchObject({ code: 4006 });
    await game.destroy();
    await expect.poll(() => shown().length, soon).toBe(0);
  });

  test('shows the activity of @xhayper/discord-rpc', async () => {
    const game = new Modern({ clientId: applicationOf(2) });
    await game.login();
    await game.user?.setActivity({ state: 'Exploring', details: 'The cave' });
    await expect.poll(() => shown().map(({ state }) => state), soon).toEqual(['Exploring']);
    await game.destroy();
  });

  test('shows the activity of discord-rpc-revamp', async () => {
    const game = new Revamp.Client();
    await game.connect({ clientId: applicationOf(3) });
    await game.setActivity({ state: 'Building', details: 'A bridge' });
    // The fifth change within 20 seconds: the gateway admits no sixth, so that the end is shown later is not waited for.
    await expect.poll(() => shown().map(({ state }) => state), soon).toEqual(['Building']);
    game.destroy();
  });

  test('authorizes an application, which reads guilds and changes voice settings with its scopes', async () => {
    const game = new classic.Client({ transport: 'ipc' });
    game.fetch.endpoint = server.info.api;
    await game.login({
      clientId: applicationOf(0),
      clientSecret: server.info.application.client_secret,
      redirectUri: 'http://127.0.0.1/callback',
      scopes: ['identify', 'rpc'],
    });
    const { guild } = server.info;
    expect(await game.request('GET_GUILDS')).toMatchObject({ guilds: [{ id: guild.id }] });
    expect(await game.request('GET_GUILD', { guild_id: guild.id })).toMatchObject({ id: guild.id });
    const { channels } = await game.request('GET_CHANNELS', { guild_id: guild.id });
    expect(channels).toContainEqual(expect.objectContaining({ id: guild.text_channel_id, type: 0 }));
    expect(await game.request('GET_CHANNEL', { channel_id: guild.text_channel_id })).toMatchObject({
      guild_id: guild.id,
      messages: expect.arrayContaining([expect.objectContaining({ type: 7 })]),
    });
    const heard: unknown[] = [];
    game.on('MESSAGE_CREATE', (data) => heard.push(data));
    game.on('GUILD_STATUS', (data) => heard.push(data));
    await game.subscribe('MESSAGE_CREATE', { channel_id: guild.text_channel_id });
    await game.subscribe('GUILD_STATUS', { guild_id: guild.id });
    await server.bot().call('create_message', {
      params: { channel_id: guild.text_channel_id },
      body: { content: 'hello' },
    });
    await server.bot().call('update_guild', { params: { guild_id: guild.id }, body: { name: 'Renamed' } });
    await expect.poll(() => heard.length, soon).toBe(2);
    expect(heard).toMatchObject([{ message: { content: 'hello' } }, { guild: { name: 'Renamed' } }]);
    expect(await game.request('SET_VOICE_SETTINGS', { mute: true })).toMatchObject({ mute: true });
    const channel = { channel_id: guild.voice_channel_id };
    const told: unknown[] = [];
    for (const event of ['SPEAKING_START', 'SPEAKING_STOP', 'VOICE_STATE_DELETE'])
      await game.subscribe(event, channel);
    for (const event of ['VOICE_CHANNEL_SELECT', 'VOICE_CONNECTION_STATUS']) await game.subscribe(event, {});
    for (const event of ['SPEAKING_START', 'SPEAKING_STOP', 'VOICE_CHANNEL_SELECT'])
      game.on(event, (data) => told.push([event, data]));
    game.on('VOICE_STATE_DELETE', (data) => told.push(['VOICE_STATE_DELETE', (data as Spoken).user.id]));
    game.on('VOICE_CONNECTION_STATUS', (data) => told.push((data as Spoken).state));
    expect(await game.request('SELECT_VOICE_CHANNEL', channel)).toMatchObject({ id: guild.voice_channel_id });
    await expect
      .poll(async () => game.request('GET_SELECTED_VOICE_CHANNEL'), soon)
      .toMatchObject({ voice_states: [{ voice_state: { self_mute: true } }] });
    await expect.poll(() => told, soon).toContain('VOICE_CONNECTED');
    const speaker = server.info.bots[5]!.id;
    await singer.do('join', { guildId: guild.id, channelId: guild.voice_channel_id });
    await singer.do('play', { file: join(folder, 'tone.ogg') });
    for (const event of ['SPEAKING_START', 'SPEAKING_STOP'])
      await expect.poll(() => told, soon).toContainEqual([event, { ...channel, user_id: speaker }]);
    expect(await game.request('SELECT_VOICE_CHANNEL', { channel_id: null })).toBeNull();
    await expect.poll(() => told, soon).toContainEqual(['VOICE_STATE_DELETE', server.info.users[0]!.id]);
    expect(told).toContainEqual(['VOICE_CHANNEL_SELECT', { channel_id: null, guild_id: null }]);
    await expect.poll(() => told.at(-1), soon).toBe('DISCONNECTED');
    await game.destroy();
  });

  test('serves WebSockets of the origins that the application lists, and refuses others with 4001', async () => {
    const { port } = serving;
    if (port === null) expect.unreachable('All ports from 6463 to 6472 are in use.');
    const open = async (index: number, origin: string) => {
      const url = `ws://127.0.0.1:${port}/?v=1&client_id=${applicationOf(index)}&encoding=json`;
      const socket = new WebSocket(url, { origin });
      return Promise.race([
        once(socket, 'message').then(([data]) => {
          socket.close();
          return JSON.parse(String(data)) as object;
        }),
        once(socket, 'close').then(([code]) => code as number),
      ]);
    };
    expect(await open(0, ORIGIN)).toMatchObject({ evt: 'READY', data: { v: 1 } });
    expect(await open(4, ORIGIN)).toBe(4001);
    // Each origin may connect twice a minute, so that another page takes nothing away from the game.
    expect(await open(4, 'https://evil.example')).toBe(4001);
    expect(await open(4, 'https://evil.example')).toBe(4001);
    expect(await open(4, 'https://evil.example')).toBe(4002);
  });

  test('lets only the server’s own pages ask for the call, and challenges each before anything else', async () => {
    const { port, room } = serving;
    if (port === null) expect.unreachable('All ports from 6463 to 6472 are in use.');
    const { origin } = new URL(server.info.api);
    expect(room).toMatch(new RegExp(`^${origin}/voice-room/#helper=${port}\\.[0-9a-f]{32}$`));
    const open = (from?: string) =>
      new WebSocket(`ws://127.0.0.1:${port}/voice-room`, from === undefined ? {} : { origin: from });
    for (const from of [undefined, 'null', 'https://evil.example', ORIGIN]) {
      const refused = open(from).on('error', () => undefined);
      const code = await new Promise((resolve) => refused.on('close', resolve));
      expect([from, code]).toEqual([from, 1006]);
    }
    const page = open(origin);
    await once(page, 'open');
    page.send(JSON.stringify({ op: 'hello', nonce: '0'.repeat(32) }));
    const [data] = await once(page, 'message');
    expect(JSON.parse(String(data))).toMatchObject({ op: 'challenge' });
    page.send(JSON.stringify({ op: 'proof', proof: '0'.repeat(64), user_id: server.info.users[0]!.id }));
    expect((await once(page, 'close'))[0]).toBe(1008);
  });

  test('answers HTTP of pages that the application lists, one command a request', async () => {
    const { port } = serving;
    const post = (origin: string) =>
      fetch(`http://127.0.0.1:${port}/rpc?v=1&client_id=${applicationOf(0)}`, {
        method: 'POST',
        headers: { origin },
        body: JSON.stringify({ cmd: 'CAPTURE_LOG', args: {}, nonce: 'one' }),
      });
    expect(await (await post(ORIGIN)).json()).toEqual({
      ...{ cmd: 'CAPTURE_LOG', nonce: 'one', evt: null, data: null },
    });
    expect((await post('https://evil.example')).status).toBe(403);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  });

  test('gives a second server the next number, and one of two the number of a server that was killed', async () => {
    const other = await serve();
    expect(other.path).toBe(join(folder, 'discord-ipc-1'));
    await end(serving, 'SIGKILL');
    expect((await stat(serving.path)).isSocket()).toBe(true);
    const both = await Promise.all([serve(), serve()]);
    expect(both.map(({ path }) => path).sort()).toEqual([0, 2].map((n) => join(folder, `discord-ipc-${n}`)));
    await end(other, 'SIGTERM');
    await expect(stat(other.path)).rejects.toMatchObject({ code: 'ENOENT' });
    for (const one of both) await end(one, 'SIGTERM');
  });

  test('leaves a socket that another program listens on alone', async () => {
    const blocker = createServer();
    blocker.listen(join(folder, 'discord-ipc-0'));
    await once(blocker, 'listening');
    const beside = await serve();
    expect(beside.path).toBe(join(folder, 'discord-ipc-1'));
    await end(beside, 'SIGTERM');
    blocker.close();
  });

  test('has no user after guildhall logout, which revokes the token', async () => {
    const path = join(folder, 'guildhall/credentials.json');
    const { token } = JSON.parse(await readFile(path, 'utf8')) as { token: string };
    const { child } = await cli(['logout', '--json'], {});
    expect((await once(child, 'exit'))[0]).toBe(0);
    children.delete(child);
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
    const asked = await fetch(`${server.info.api}/v10/users/@me`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(asked.status).toBe(401);
    const nobody = await cli(['rpc', '--json'], {});
    expect((await once(nobody.child, 'exit'))[0]).toBe(1);
    children.delete(nobody.child);
  });
});

test('guildhall dev --rpc serves the games of its first user', async () => {
  const flags = ['--json', '--rpc', '--port', '0', '--admin-port', '0', '--set', 'voice=false'];
  const { child, lines } = await cli(['dev', ...flags], {});
  const [line] = await once(lines, 'line');
  const { bots, users } = JSON.parse(String(line)) as TestServer['info'];
  const game = new classic.Client({ transport: 'ipc' });
  await game.login({ clientId: bots[0]!.application_id });
  expect(game.user?.username).toBe(users[0]!.name);
  await game.destroy();
  await end({ child }, 'SIGTERM');
});
