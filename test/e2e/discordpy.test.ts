// Goal: an unmodified discord.py bot, which sends ids as JSON integers, replies, writes to a person, deletes in bulk,
// asks for members, renames itself, joins a thread and joins a voice channel.
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

/** Debian's, which is where its package of discord.py is found. */
const PYTHON = '/usr/bin/python3';
const TIMEOUT_MS = 60_000;
const found = spawnSync(PYTHON, ['-c', 'import discord; print(discord.__version__)'], { encoding: 'utf8' });
const lacking = found.status === 0 ? null : 'discord.py is not installed (Debian: python3-discord)';
if (lacking !== null) console.log(`Left out: ${lacking}.`);

describe.skipIf(lacking !== null)(lacking ?? 'a discord.py bot', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.finish());

  test(
    'has every id it sends as an integer arrive with all its digits',
    async () => {
      const { api, gateway, bot, guild, users } = server.info;
      const person = users[0]!;
      const { stdout } = await promisify(execFile)(PYTHON, [join(ROOT, 'test/e2e/bots/discordpy.py')], {
        timeout: TIMEOUT_MS - 5_000,
        env: {
          ...{ API: api, GATEWAY: gateway, TOKEN: bot.token, GUILD: guild.id, PERSON: person.id },
          ...{ CHANNEL: guild.text_channel_id, VOICE: guild.voice_channel_id },
        },
      });
      const seen = JSON.parse(stdout);
      expect(seen).toEqual({
        reply: {
          to: seen.reply?.first,
          first: expect.stringMatching(/^\d{17,19}$/),
          mentions: [person.id, bot.id].sort(),
        },
        dm: { recipient: person.id, content: 'in private' },
        deleted: true,
        members: [person.id],
        roles: [true],
        overwrite: [true],
        parent: 'Below',
        nick: 'Wick',
        joined: true,
        voice: { channel: guild.voice_channel_id, user: bot.id, muted: true },
      });
    },
    TIMEOUT_MS,
  );
});
