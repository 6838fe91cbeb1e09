// Goal: docs/start.md is right about calls: its bot plays back what it receives, and the operator sees the members of
// the call and their sound.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallPage } from '../../transports/admin/calls.ts';
import { oggOpus } from '../support/ogg.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const CLI = join(ROOT, 'dist/cli.js');
const TONE_HZ = 440;
const soon = { timeout: 20_000, interval: 250 };

let server: TestServer;
let folder: string;
let echo: ChildProcess;
let speaker: VoiceBot;
let ids: { readonly echo: string; readonly speaker: string };

beforeAll(async () => {
  server = await startServer({ bots: 2, set: { voice_resume_window_ms: 8000 } });
  folder = await mkdtemp(join(tmpdir(), 'guildhall-operations-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'tone.ogg'), oggOpus(toneFrames(TONE_HZ, 4)));
  const { api, ca_file: caFile, bots } = server.info;
  ids = { echo: bots[0]!.id, speaker: bots[1]!.id };
  echo = await startEcho();
  speaker = new VoiceBot({ api, token: bots[1]!.token, caFile: caFile! });
  await speaker.do('login');
});
afterAll(async () => {
  echo?.kill('SIGKILL');
  speaker?.end();
  await server?.finish();
  await rm(folder, { recursive: true, force: true });
});

/** The bot of docs/start.md, with the address and the token of this server; up when it says that it listens. */
async function startEcho(): Promise<ChildProcess> {
  const page = await readFile(join(ROOT, 'docs/start.md'), 'utf8');
  const lines = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  const bot = lines.find((code) => code.includes('@discordjs/voice'))!;
  const { cdn, bots, ca_file } = server.info;
  expect(bot).toContain('<bot token>');
  await writeFile(
    join(folder, 'echo.mjs'),
    bot.replaceAll('http://127.0.0.1:3000', cdn).replace('<bot token>', bots[0]!.token),
  );
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: ca_file! };
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const child = spawn(process.execPath, ['echo.mjs'], { cwd: folder, env, stdio: [...stdio] });
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line === 'listening in General') resolve();
    });
    child.once('exit', (code) => reject(new Error(`The bot ended with ${code}.`)));
  });
  return child;
}

/** Output of a command. */
function guildhall(...argv: readonly string[]): string {
  const { url, token } = server.info.admin;
  const env = { ...process.env, GUILDHALL_ADMIN_URL: url, GUILDHALL_ADMIN_TOKEN: token };
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...argv], { env, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

const listed = (): CallPage => JSON.parse(guildhall('calls', '--json'));

/** The value of a metric, by name and labels. */
async function figures(): Promise<(name: string) => number> {
  const text = await (await fetch(`${server.info.admin.url}/metrics`)).text();
  const values = new Map(text.split('\n').map((line) => line.split(/ (?=\S+$)/) as [string, string]));
  return (name) => Number(values.get(name) ?? Number.NaN);
}

test('a bot from the lines of docs/start.md echoes the audio it receives, and the server lists the call', async () => {
  const { id: guildId, voice_channel_id: channelId } = server.info.guild;
  const alone = listed();
  expect(alone).toMatchObject({ voice: true, total: 1 });
  expect(alone.calls[0]!.members).toHaveLength(1);

  await speaker.do('join', { guildId, channelId });
  await speaker.do('secured', { userIds: [ids.echo, ids.speaker] });
  await speaker.do('record', { userId: ids.echo });
  await speaker.do('play', { file: join(folder, 'tone.ogg') });
  const heard = async () => shareAt(decodedSamples(await speaker.heard(ids.echo)), TONE_HZ);
  await expect.poll(async () => (await speaker.heard(ids.echo)).length, soon).toBeGreaterThan(50);
  // The first of it may be broken while a busy machine starts to play.
  await expect.poll(heard, soon).toBeGreaterThan(0.5);

  const [call] = listed().calls;
  expect(call).toMatchObject({
    ...{ call_id: channelId, guild_id: guildId },
    dave: { version: 1, phase: 'secure' },
  });
  const [one, other] = [ids.echo, ids.speaker].map((id) =>
    call!.members.find(({ user_id }) => user_id === id),
  );
  for (const member of [one!, other!]) {
    expect(member).toMatchObject({ transport: 'udp', attached: true, connected: true });
    expect(member.media!.packets_in).toBeGreaterThan(50);
    expect(member.media!.packets_out).toBeGreaterThan(50);
    expect(member.media!.loss).toBeLessThan(0.05);
  }
  const drawn = guildhall('calls').split('\n');
  expect(drawn[0]).toBe('1 call, 2 members');
  expect(drawn.find((line) => line.includes(ids.speaker))).toMatch(/udp .* % .* ms$/);

  const figure = await figures();
  expect(figure('guildhall_calls')).toBe(1);
  expect(figure('guildhall_call_members')).toBe(2);
  expect(figure('guildhall_voice_sockets')).toBe(2);
  const { packets_in, bytes_in } = other!.media!;
  expect(figure('guildhall_media_packets_in')).toBeGreaterThanOrEqual(packets_in);
  expect(figure('guildhall_media_bytes_in')).toBeGreaterThanOrEqual(bytes_in);
  expect(figure('guildhall_media_packets_out')).toBeGreaterThan(100);
  expect(figure('guildhall_media_bytes_out')).toBeGreaterThan(100 * 12);
  const forwarded = figure('guildhall_media_forward_seconds_count');
  expect(forwarded).toBeGreaterThan(0);
  expect(figure('guildhall_media_forward_seconds_bucket{le="+Inf"}')).toBe(forwarded);
  expect(figure('guildhall_media_drops{reason="unauthenticated"}')).toBe(0);
  expect(figure('guildhall_call_member_loss{quantile="1"}')).toBeLessThan(0.05);
  expect(figure('guildhall_call_member_jitter_ms{quantile="1"}')).toBeGreaterThan(0);
  expect(figure(`guildhall_call_worst_jitter_ms{call="${channelId}",user="${ids.speaker}"}`)).toBeGreaterThan(
    0,
  );
  expect(figure('guildhall_dave{what="commit",result="accepted"}')).toBeGreaterThan(0);
  expect(figure('guildhall_dave{what="transition",result="ready"}')).toBeGreaterThan(0);
});

test('members who have left disappear from the list of calls and from the metrics', async () => {
  await speaker.do('leave');
  // No close is sent for it: it might resume.
  echo.kill('SIGKILL');
  await expect.poll(() => guildhall('calls'), soon).toMatch(new RegExp(`${ids.echo} +udp +away`));
  await expect.poll(() => listed().total, soon).toBe(0);
  expect(guildhall('calls')).toContain('No user is in a call.');
  const figure = await figures();
  expect(figure('guildhall_calls')).toBe(0);
  expect(figure('guildhall_call_members')).toBe(0);
  // Series of members end with them.
  const label = `{call="${server.info.guild.voice_channel_id}",user="${ids.speaker}"}`;
  expect(figure(`guildhall_call_worst_jitter_ms${label}`)).toBeNaN();
});
