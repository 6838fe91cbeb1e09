import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const PYTHON = '/usr/bin/python3';
/** All that is tried with one process of a client, from its start on. */
const PROCESS_MS = 90_000;
const LOOK_MS = 100;
/** The channel is read by a person's token, whose requests are limited as everyone's. */
const READ_MS = 1000;
const READY_MS = 30_000;
const ANSWER_MS = 15_000;
/** Some libraries wait ten seconds and more before they connect again. */
const AGAIN_MS = 45_000;
const VOICE_MS = 20_000;
const OFFLINE_MS = 15_000;
/** A bot may identify once in five seconds. */
const IDENTIFY_AGAIN_MS = 6000;

const COMMAND = 'compat';
const RESUME = 6;
const IDENTIFY = 2;

/** A bot in a process of its own, and the steps it has reported with their times. */
function startBot(kind, folder, { info, caFile }, { token }) {
  const env = {
    ...process.env,
    ...{ API: info.api, GATEWAY: info.gateway, CDN: info.cdn, TOKEN: token, GUILD: info.guild.id },
    ...{ VOICE_CHANNEL: info.guild.voice_channel_id, NODE_EXTRA_CA_CERTS: caFile },
  };
  const [program, ...args] =
    kind === 'discordpy'
      ? [PYTHON, join(import.meta.dirname, 'bot.py')]
      : [process.execPath, join(import.meta.dirname, 'bot.mjs'), kind, folder];
  const child = spawn(program, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const steps = new Map();
  const errors = [];
  const said = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{"step"')) {
      said.push(line);
      return;
    }
    const { step, detail } = JSON.parse(line);
    if (step === 'error') errors.push(detail);
    else if (!steps.has(step)) steps.set(step, { detail, atMs: performance.now() });
  });
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const ended = once(child, 'exit');
  return {
    steps,
    errors,
    said,
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

/** Runs one process of a client, and does `trial` with it. */
async function withBot({ kind }, folder, server, account, found, trial) {
  const bot = startBot(kind, folder, server, account);
  const endMs = performance.now() + PROCESS_MS;
  const until = async (isTrue, withinMs, everyMs = LOOK_MS) => {
    const stopMs = Math.min(endMs, performance.now() + withinMs);
    while (performance.now() < stopMs) {
      if (await isTrue()) return true;
      await sleep(everyMs);
    }
    return false;
  };
  const messages = `/channels/${server.info.guild.text_channel_id}/messages`;
  const say = (content) => server.asUser('POST', messages, { content });
  const isAnswered = async (word, withinMs) => {
    await say(`!ping ${word}`);
    const isThere = ({ content, author }) => content === `pong ${word}` && author.id === account.id;
    return until(async () => (await server.asUser('GET', messages)).some(isThere), withinMs, READ_MS);
  };
  try {
    const isReady = await until(() => bot.steps.has('ready'), READY_MS);
    if (isReady) await trial({ bot, until, say, isAnswered });
    return isReady;
  } finally {
    await bot.end();
    found.errors.push(...bot.errors);
    found.said.push(...bot.said);
  }
}

/**
 * Whether the bot answers its slash command, and the button of that answer, as a person invokes them. A library that
 * registers no command within the time has none.
 */
async function tryCommands(server, account, { until, bot }, found) {
  const { text_channel_id: channelId, id: guildId } = server.info.guild;
  const place = { application_id: account.application_id, guild_id: guildId, channel_id: channelId };
  const messages = `/channels/${channelId}/messages`;
  let command;
  await until(
    async () => {
      const commands = await server.asBot(account, `/applications/${account.application_id}/commands`);
      command = commands.find(({ name }) => name === COMMAND);
      return command || bot.steps.has('commands failed');
    },
    ANSWER_MS,
    READ_MS,
  );
  found.command = false;
  found.button = false;
  if (!command) return;
  const answerOf = async (content, invocation) => {
    let message;
    await server.asUser('POST', '/interactions', { ...place, ...invocation });
    const isAnswer = (one) => one.content === content && one.author.id === account.id;
    await until(
      async () => {
        message = (await server.asUser('GET', messages)).find(isAnswer);
        return message;
      },
      ANSWER_MS,
      READ_MS,
    );
    return message;
  };
  const { id, version, name, type } = command;
  const answer = await answerOf('pong command', { type: 2, data: { id, version, name, type, options: [] } });
  found.command = answer !== undefined;
  const button = answer?.components[0]?.components[0];
  if (!button) return;
  const data = { component_type: button.type, custom_id: button.custom_id };
  const pressed = await answerOf('pong button', { type: 3, message_id: answer.id, message_flags: 0, data });
  found.button = pressed !== undefined;
}

/** How long the bot is shown as online after it was told to shut down, with the call that its library documents. */
async function offlineAfter(server, account, { bot, until, say }) {
  const statusOf = () => server.shown.get(account.id)?.status ?? 'offline';
  if (!(await until(() => statusOf() === 'online', OFFLINE_MS))) return 'never shown online';
  await say('!bye');
  if (!(await until(() => bot.steps.has('leaving'), ANSWER_MS))) return 'was not told';
  const isOffline = await until(() => statusOf() === 'offline', OFFLINE_MS);
  if (!isOffline) return `online after ${OFFLINE_MS / 1000} s`;
  const elapsedMs = server.shown.get(account.id).atMs - bot.steps.get('leaving').atMs;
  return elapsedMs < 1000 ? 'at once' : `after ${Math.round(elapsedMs / 1000)} s`;
}

/** How the bot returned after its connections were cut, by the last opcode with which it did. */
function returnOf(opcodes) {
  if (!opcodes.includes(RESUME)) return 'new session';
  return opcodes.lastIndexOf(IDENTIFY) > opcodes.lastIndexOf(RESUME)
    ? 'resume refused, new session'
    : 'resumed';
}

/**
 * Tries one client, with two processes. The first logs in, gets its guild, answers a message and shuts down. The second
 * enters a call, has all its connections cut, and answers another. What the bot says of its answers is not believed: the
 * channel is read, a watcher's session says who is online, and what goes over the wire says whether it resumed.
 */
export async function tryClient(client, folder, server, account) {
  const loggedBefore = server.log.length;
  const found = { ready: false, guild: false, answer: false, again: false, offline: null, voice: null };
  Object.assign(found, { command: null, button: null, returned: null, notes: [], errors: [], said: [] });
  const noteFailed = ({ steps }, what) => {
    if (steps.has(`${what} failed`)) found.notes.push(`${what}: ${steps.get(`${what} failed`).detail}`);
  };
  found.ready = await withBot(client, folder, server, account, found, async (trial) => {
    found.guild = await trial.until(() => trial.bot.steps.has('guild'), 5000);
    found.answer = await trial.isAnswered('one', ANSWER_MS);
    if (client.commands !== false) await tryCommands(server, account, trial, found);
    noteFailed(trial.bot, 'commands');
    if (found.answer) found.offline = await offlineAfter(server, account, trial);
  });
  if (found.answer) await sleep(IDENTIFY_AGAIN_MS);
  if (found.answer)
    await withBot(client, folder, server, account, found, async (trial) => {
      const { bot, until, say, isAnswered } = trial;
      if (client.voice === true) {
        await until(() => bot.steps.has('guild'), 5000);
        await say('!join');
        await until(() => bot.steps.has('voice') || bot.steps.has('voice failed'), VOICE_MS);
        found.voice = bot.steps.has('voice');
        noteFailed(bot, 'voice');
      }
      if (!(await isAnswered('two', ANSWER_MS))) return;
      const before = server.opcodes.length;
      server.cut();
      // A message of the time without a connection is replayed to a session that is resumed.
      found.again = await isAnswered('three', AGAIN_MS);
      found.returned = returnOf(server.opcodes.slice(before));
    });
  const isWhole = found.again && found.guild && found.command !== false && found.button !== false;
  if (!isWhole) found.notes.push(...new Set(found.errors.slice(0, 3)));
  const log = server.log.slice(loggedBefore);
  if (log.some((line) => line.includes('close code 4017'))) found.notes.push('closed with 4017');
  return { ...found, log };
}
