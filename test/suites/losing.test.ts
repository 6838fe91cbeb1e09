// Goal: while PostgreSQL is unreachable, nothing is acknowledged or sent that is not durable, and service resumes by itself when it is back.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../actors/runtime/clock.ts';
import { createActors } from '../../compose/actors.ts';
import { foundationOf } from '../../compose/foundation.ts';
import { DEFAULTS } from '../../config/config.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type ChannelId, type GuildId, snowflakeOf, type UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { createOperator } from '../../services/operator/operator.ts';
import { openStorage } from '../../storage/open.ts';
import { openWire } from '../support/databasewire.ts';
import { RecordingSink } from '../support/instance.ts';
import { databases, type Kind } from './databases.ts';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An instance over a database behind the proxy, with a guild, its owner, and a bot that receives its events. */
async function openOver(databaseUrl: string, retryMs: number) {
  const retry = { forMs: retryMs, clock: systemClock };
  const storage = await openStorage({ databaseUrl, writer: { retry } });
  closing.push(() => storage.close());
  const foundation = foundationOf({
    clock: systemClock,
    config: { ...DEFAULTS, rate_limits: false, log_level: 'silent' },
  });
  const instance = createActors(foundation, storage, { gatewayUrl: () => '', publicUrl: () => '' });
  closing.push(() => {
    instance.close();
    foundation.wheel.stop();
  });
  const operator = createOperator({
    ...{ ...instance, storage, nextId: foundation.nextId, randomBytes: foundation.randomBytes },
    nowMs: () => foundation.clock.now(),
    updateApplication: instance.features.endpoints.update,
  });
  const { user } = await operator.createUser({ username: 'owner' });
  const ownerId = user.id as UserId;
  const guild = await operator.createGuild({ name: 'Test', ownerId });
  const guildId = guild.id as GuildId;
  const { bot, botToken } = await operator.createApplication({ name: 'Bot' });
  await operator.addMember({ guildId, userId: bot.id as UserId, permissions: 8n });
  const sink = new RecordingSink();
  await instance.sessions.identify(
    {
      ...{ token: botToken, intents: ALL_INTENTS, shard: [0, 1], largeThreshold: 50 },
      ...{ presence: null, version: 10, capabilities: 0 },
    },
    sink,
  );
  const by = { userId: ownerId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const channels = await instance.guilds.look(guildId, (state) => [...state.channels.values()]);
  const channelId = (channels as { id: ChannelId; type: number }[]).find(({ type }) => type === 0)?.id;
  if (!channelId) throw new Error('The guild has no text channel.');
  const say = (content: string) => {
    const input = { channelId, draft: { content }, attachments: [], forward: null };
    return instance.guilds.call(guildId, 'createMessage', input, { by, requires: 0n, channelId });
  };
  const stored = async (): Promise<string[]> => {
    const page = await storage.messages.list(guildId, channelId, { limit: 1_000 });
    return page.map(({ content }) => content).filter(Boolean);
  };
  const shown = () =>
    sink.dispatches.flatMap(({ t, d }) => (t === 'MESSAGE_CREATE' ? [(d as StoredMessage).content] : []));
  return { say, stored, shown, sink, storage };
}

const postgres = databases().find(({ name }) => name === 'PostgreSQL');

describe.skipIf(!postgres)('while PostgreSQL is unreachable', () => {
  test('writes fail, only durable messages are sent, and service resumes when it is back', async () => {
    const database = await (postgres as Kind).create();
    closing.push(() => database.dispose());
    const wire = await openWire(database.options.databaseUrl ?? '');
    closing.push(() => wire.close());
    const { say, stored, shown, sink, storage } = await openOver(wire.url, 0);
    await say('before');

    const acknowledged: string[] = ['before'];
    let failed = 0;
    const writing = Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        await delay(n);
        const content = `message ${n}`;
        await say(content).then(
          (reply) => reply.ok && acknowledged.push(content),
          () => {
            failed += 1;
          },
        );
      }),
    );
    await delay(100);
    wire.cut();
    expect(await storage.unready()).not.toBeNull();
    await delay(120);
    await expect(say('while it is gone')).rejects.toThrow();
    wire.mend();
    await writing;
    expect(failed).toBeGreaterThan(0);

    // The session, which received the guild as unavailable, receives GUILD_CREATE again.
    const again = () => sink.names.lastIndexOf('GUILD_CREATE') > sink.names.lastIndexOf('GUILD_DELETE');
    for (let turn = 0; turn < 200 && !again(); turn += 1) await delay(50);
    expect([sink.names.includes('GUILD_DELETE'), again(), await storage.unready()]).toEqual([
      true,
      true,
      null,
    ]);
    expect((await say('after')).ok).toBe(true);
    acknowledged.push('after');

    const durable = new Set(await stored());
    expect(shown().filter((content) => !durable.has(content))).toEqual([]);
    expect(acknowledged.filter((content) => !durable.has(content))).toEqual([]);
    expect(durable.has('while it is gone')).toBe(false);
    expect(shown().at(-1)).toBe('after');
  });

  test('writes wait for a database that is back soon, and no session notices', async () => {
    const database = await (postgres as Kind).create();
    closing.push(() => database.dispose());
    const wire = await openWire(database.options.databaseUrl ?? '');
    closing.push(() => wire.close());
    const { say, stored, shown, sink, storage } = await openOver(wire.url, 60_000);
    const contents = Array.from({ length: 300 }, (_, n) => `message ${n}`);
    const writing = Promise.all(
      contents.map(async (content, n) => {
        await delay(n);
        return (await say(content)).ok;
      }),
    );
    for (let turn = 0; turn < 3; turn += 1) {
      await delay(60);
      wire.cut();
      const read = storage.users.get([]);
      const looked = storage.guilds.load(snowflakeOf(1n));
      await delay(40);
      wire.mend();
      expect([await read, await looked]).toEqual([[], null]);
    }
    expect(new Set(await writing)).toEqual(new Set([true]));
    expect(sink.names).not.toContain('GUILD_DELETE');
    expect([shown().length, new Set(shown())]).toEqual([300, new Set(contents)]);
    expect(new Set(await stored())).toEqual(new Set(contents));
  });
});
