import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const PYTHON = '/usr/bin/python3';
/** All that is tried with one client, from its start on. */
const CLIENT_MS = 60_000;
const LOOK_MS = 200;
/** The channel is read by a person's token, whose requests are limited as everyone's. */
const READ_MS = 1000;

/** A bot in a process of its own, and the steps it has reported. */
function startBot(kind, folder, { info }, { token }) {
  const env = {
    ...process.env,
    ...{ API: info.api, GATEWAY: info.gateway, CDN: info.cdn, TOKEN: token, GUILD: info.guild.id },
    ...{ VOICE_CHANNEL: info.guild.voice_channel_id, NODE_EXTRA_CA_CERTS: info.ca_file },
  };
  const [program, ...args] =
    kind === 'discordpy'
      ? [PYTHON, join(import.meta.dirname, 'bot.py')]
      : [process.execPath, join(import.meta.dirname, 'bot.mjs'), kind, folder];
  const child = spawn(program, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const steps = new Map();
  const errors = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{"step"')) return;
    const { step, detail } = JSON.parse(line);
    if (step === 'error') errors.push(detail);
    else steps.set(step, detail ?? '');
  });
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const ended = once(child, 'exit');
  return {
    steps,
    errors,
    async end() {
      // Managers have started bots of their own, so the whole group is ended.
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
      await ended;
    },
  };
}

/**
 * Tries one client: does it log in and get its guild, does it answer a message, does it answer another after all its
 * connections were cut, does it enter a call. What the bot says of its answers is not believed: the channel is read.
 */
export async function tryClient({ kind, voice = false }, folder, server, account) {
  const loggedBefore = server.log.length;
  const bot = startBot(kind, folder, server, account);
  const endMs = performance.now() + CLIENT_MS;
  const until = async (isTrue, withinMs = CLIENT_MS, everyMs = LOOK_MS) => {
    const stopMs = Math.min(endMs, performance.now() + withinMs);
    while (performance.now() < stopMs) {
      if (await isTrue()) return true;
      await sleep(everyMs);
    }
    return false;
  };
  const messages = `/channels/${server.info.guild.text_channel_id}/messages`;
  const isAnswered = async (word) => {
    await server.asUser('POST', messages, { content: `!ping ${word}` });
    return until(
      async () => {
        const said = await server.asUser('GET', messages);
        return said.some(({ content, author }) => content === `pong ${word}` && author.id === account.id);
      },
      15_000,
      READ_MS,
    );
  };
  const found = { ready: false, guild: false, answer: false, again: false, voice: null, notes: [] };
  try {
    found.ready = await until(() => bot.steps.has('ready'), 30_000);
    found.guild = found.ready && (await until(() => bot.steps.has('guild'), 5000));
    found.answer = found.ready && (await isAnswered('one'));
    if (voice && found.answer) {
      await server.asUser('POST', messages, { content: '!join' });
      await until(() => bot.steps.has('voice') || bot.steps.has('voice failed'), 20_000);
      found.voice = bot.steps.has('voice');
      if (bot.steps.has('voice failed')) found.notes.push(`voice: ${bot.steps.get('voice failed')}`);
    }
    if (found.answer) {
      server.cut();
      // A message of the time without a connection is replayed to a session that is resumed.
      found.again = await isAnswered('two');
    }
    if (bot.steps.has('commands failed')) found.notes.push(`commands: ${bot.steps.get('commands failed')}`);
    if (!found.again || !found.guild) found.notes.push(...new Set(bot.errors.slice(0, 3)));
    const log = server.log.slice(loggedBefore);
    if (log.some((line) => line.includes('close code 4017'))) found.notes.push('closed with 4017');
    return { ...found, log, errors: bot.errors };
  } finally {
    await bot.end();
  }
}
