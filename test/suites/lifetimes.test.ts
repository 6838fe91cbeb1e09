// Goal: an engine that is closed at any moment leaves nothing running: no timer, handle or promise, standalone or as
// one of several shards, while it opens, serves requests, sessions and calls, or drains.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { type Logger, pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../actors/runtime/clock.ts';
import type { Config } from '../../config/config.ts';
import { createEngine, type Engine } from '../../main.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { OP } from '../../protocol/opcodes.ts';
import { supervisedDirectory } from '../../transports/cluster/directory.supervised.ts';
import {
  runSupervisorDirectory,
  type SupervisorDirectory,
} from '../../transports/cluster/supervisordirectory.ts';
import { channelPair } from '../support/channel.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { type Scope, watchingLeaks } from '../support/leakwatch.ts';
import { type Database, databases } from './databases.ts';

/** Engines that are opened and closed over PostgreSQL, so many of them at a time; ENGINES=1000 takes minutes. */
const ENGINES = Number(process.env.ENGINES ?? 300);
const AT_ONCE = 4;
/** The longest life of an engine. */
const LIFE_MS = 60;
const PARTITIONS = 16;
const LEASE_MS = 10_000;
/** Late callbacks run within this time, or are found as a handle that is left. */
const SETTLING_MS = 20;
/** How long the other sides of connections may take. What does not end within it is found. */
const WITH_PEER = { timeout: 2_000, interval: 20 };

const postgres = databases().find(({ name }) => name === 'PostgreSQL');
let database: Database;
let folder: string;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
let seed = 1;
/** 0 to 1, the same in every run. */
function chance(): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
}

/** The rows that every engine finds in the database. */
let people: {
  readonly guildId: GuildId;
  readonly textId: ChannelId;
  readonly voiceId: ChannelId;
  readonly ownerId: UserId;
  readonly token: string;
};

/** The errors in the logs of engines: nothing may fail because an engine closes. */
const faults: string[] = [];
const logger = (): Logger =>
  pino({ level: 'error' }, { write: (line: string) => void faults.push(line.slice(0, 2_000)) });

const CONFIG: Partial<Config> = {
  ...{ listen_port: 0, rate_limits: false, voice_tls: 'off', identifies_per_sec: 1_000 },
  ...{ postgres_connections: 3, partitions: PARTITIONS, lease_ttl_ms: LEASE_MS, drain_timeout_ms: 1_000 },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-lifetimes-'));
  if (!postgres) return;
  database = await postgres.create();
  const engine = await createEngine({
    config: { ...CONFIG, database_url: database.options.databaseUrl ?? null },
    logger: logger(),
  });
  people = await populate(engine);
  await engine.close();
}, 120_000);

afterAll(async () => {
  await database?.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function populate(engine: Engine): Promise<typeof people> {
  const { user } = await engine.admin.createUser({ username: 'owner' });
  const ownerId = user.id as UserId;
  const guild = await engine.admin.createGuild({ name: 'Guild', ownerId });
  const { bot, botToken } = await engine.admin.createApplication({ name: 'Bot' });
  const guildId = guild.id as GuildId;
  await engine.admin.addMember({ guildId, userId: bot.id as UserId, permissions: 8n });
  const channels = (await engine.api.list_guild_channels?.(
    { params: { guild_id: guildId } },
    { as: ownerId },
  )) as { id: ChannelId; type: number }[];
  const idOf = (type: number) => channels.find((channel) => channel.type === type)?.id as ChannelId;
  return { guildId, textId: idOf(0), voiceId: idOf(2), ownerId, token: botToken };
}

/** Uses an engine until it is closed. Requests may fail because it closes. */
async function use(engine: Engine, api: string, gateway: string): Promise<void> {
  const what = chance();
  const { guildId, textId, voiceId, token } = people;
  const headers = { authorization: `Bot ${token}`, 'content-type': 'application/json' };
  const say = (n: number) =>
    fetch(`${api}/v10/channels/${textId}/messages`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ content: `hello ${n}` }) },
    });
  if (what < 0.35) {
    const asked = Array.from({ length: 6 }, (_, n) => say(n));
    await Promise.allSettled([...asked, fetch(`${api}/v10/guilds/${guildId}`, { headers })]);
    return;
  }
  const client = await GatewayClient.connect(gateway);
  client.identify({ token, intents: 0xffff });
  if (what > 0.6) client.send(OP.VOICE_STATE_UPDATE, { guild_id: guildId, channel_id: voiceId });
  await client.dispatch('READY');
  client.send(OP.VOICE_STATE_UPDATE, { guild_id: guildId, channel_id: voiceId });
  client.send(OP.PRESENCE_UPDATE, { since: null, activities: [], status: 'idle', afk: false });
  if (what > 0.85) await engine.drain();
  else await Promise.allSettled([say(1), say(2), client.dispatch('VOICE_STATE_UPDATE')]);
}

/** Opens an engine, and closes it at a moment of its own. */
async function live(life: Scope, options: Parameters<typeof createEngine>[0]): Promise<void> {
  const opening = life.step(() => createEngine(options));
  const untilMs = delay(chance() * LIFE_MS);
  const engine = await opening;
  const used = (async () => {
    const { api, gateway } = await life.step(() => engine.listen());
    await use(engine, api, gateway);
  })().catch((error: Error) => ENDED.test(error.message) || faults.push(String(error.stack)));
  await untilMs;
  await life.step(() => engine.close());
  await used;
}

/** The errors that a client, or a caller of `listen`, receives when an engine closes. */
const ENDED = /closed|left the cluster|fetch failed|socket hang up|was awaited|ECONN|is being drained/;

/** Ends the lives of a batch, then counts what still runs. */
async function over(life: Scope): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (life.isDisconnecting) {
    // Node.js reports the end of an HTTP/2 session when it collects the session, which may be seconds later.
    const isOver = () => {
      collect();
      return !life.isDisconnecting;
    };
    await vi.waitUntil(isOver, WITH_PEER).catch(() => undefined);
  }
  life.over();
  await delay(SETTLING_MS);
  expect([...new Set([...life.late, ...life.left])]).toEqual([]);
  expect(faults).toEqual([]);
}

let worker = 0;
function alone(life: Scope, config: Partial<Config> = {}): Promise<void> {
  worker = (worker + 1) % 1_024;
  return live(life, {
    config: { ...CONFIG, database_url: database.options.databaseUrl ?? null, ...config },
    ...{ workerId: worker, logger: logger() },
  });
}

/** The test runs the supervisor's side. */
function shard(life: Scope, supervisorDirectory: SupervisorDirectory, index: number): Promise<void> {
  const { one, other } = channelPair();
  const seat = supervisorDirectory.attach(one);
  const settings = { partitions: PARTITIONS, leaseTtlMs: LEASE_MS };
  const directory = life.step(() => supervisedDirectory(other, settings, systemClock));
  const config = { ...CONFIG, shard_id: `shard-${index}`, journal_dir: join(folder, `shard-${index}`) };
  return live(life, {
    config: { ...config, database_url: database.options.databaseUrl ?? null },
    ...{ directory, logger: logger() },
  }).finally(() => seat.gone());
}

describe('the counter of what still runs after the end', () => {
  test('finds a timer, a handle, a loop and a promise that began before the end', () =>
    watchingLeaks(async (watch) => {
      const life = watch.begin();
      let wake = (): void => undefined;
      life.step(() => {
        setTimeout(() => undefined, 1).unref();
        setTimeout(() => undefined, 60_000).unref();
        void new Promise<void>((resolve) => {
          wake = resolve;
        }).then(() => undefined);
        void (async () => {
          for (let n = 0; n < 3; n += 1) await delay(1);
        })();
      });
      const { server } = life.step(() => ({ server: new pg.Client('postgres://127.0.0.1:1/x') }));
      void life.step(() => server.connect().catch(() => undefined));
      life.over();
      wake();
      await delay(SETTLING_MS);
      expect(life.late.length).toBeGreaterThan(4);
      expect(life.left.join()).toContain('Timeout');
    }));
});

describe.skipIf(!postgres)('an engine that is closed at some moment', () => {
  const openAndClose = (count: number, batch: (life: Scope) => Promise<unknown>) =>
    watchingLeaks(async (watch) => {
      for (let opened = 0; opened < count; opened += AT_ONCE) {
        const life = watch.begin();
        await batch(life);
        await over(life);
      }
    });
  const together = (open: (index: number) => Promise<void>) =>
    Promise.all(Array.from({ length: AT_ONCE }, (_, index) => open(index)));

  test('leaves nothing running as a standalone engine', { timeout: 300_000 }, () =>
    openAndClose(ENGINES / 2, (life) => together(() => alone(life))),
  );

  test('leaves nothing running with a journal', { timeout: 300_000 }, () =>
    openAndClose(ENGINES / 10, (life) =>
      together((index) => alone(life, { journal: 'on', journal_dir: join(folder, `alone-${index}`) })),
    ),
  );

  test('leaves nothing running as one of several shards', { timeout: 300_000 }, () =>
    openAndClose((ENGINES * 4) / 10, async (life) => {
      const supervisorDirectory = runSupervisorDirectory(
        { partitions: PARTITIONS, leaseTtlMs: LEASE_MS },
        systemClock,
      );
      await together((index) => shard(life, supervisorDirectory, index));
      supervisorDirectory.close();
    }),
  );
});

describe('an engine over the embedded database that is closed at some moment', () => {
  test('leaves nothing running', { timeout: 120_000 }, () =>
    watchingLeaks(async (watch) => {
      for (let n = 0; n < 2; n += 1) {
        const life = watch.begin();
        await live(life, { config: { ...CONFIG, voice: n > 0 }, logger: logger() });
        await over(life);
      }
    }),
  );
});
