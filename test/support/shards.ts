import { Client, Events, GatewayIntentBits } from 'discord.js';
import { expect } from 'vitest';
import { partitionOf } from '../../engine/placement/partition.ts';
import { rendezvous } from '../../engine/placement/rendezvous.ts';
import type { FrontRow, FrontStatus } from '../../transports/admin/front.ts';
import type { TestServer } from './server.ts';

const SOON = { timeout: 60_000, interval: 100 };
/** Weight of every shard, unless it is set otherwise. */
const WEIGHT = 100;
const RETRY_MS = 50;

/** The shards' status, as the supervisor reports it. */
export async function statusOf({ info }: TestServer): Promise<FrontStatus> {
  const headers = { authorization: `Bearer ${info.admin.token}` };
  const response = await fetch(`${info.admin.url}/cluster`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as FrontStatus;
}

/** Waits until every shard serves what it is to serve. */
export async function settled(server: TestServer): Promise<FrontStatus> {
  const look = async () => {
    const { shards, partitions_unserved: unserved } = await statusOf(server);
    return { unserved, fit: shards.map(({ state, partitions }) => state === 'serving' && partitions > 0) };
  };
  const { length } = server.info.shards ?? [];
  await expect.poll(look, SOON).toEqual({ unserved: 0, fit: Array(length).fill(true) });
  return statusOf(server);
}

/** Owner of an aggregate while no handover is under way. */
export function ownerOf(id: string, { shards, partitions }: FrontStatus): FrontRow {
  const placed = shards.map((shard) => ({ id: shard.id, weight: WEIGHT, draining: false }));
  const wanted = rendezvous(partitions)(placed)[partitionOf(id, partitions)];
  return shards.find((shard) => shard.id === wanted) as FrontRow;
}

/** The shard that holds the only session. */
export const homeIn = ({ shards }: FrontStatus): FrontRow =>
  shards.find(({ sessions }) => sessions === 1) as FrontRow;

/** The channel of a new guild that this shard owns, with both bots in it. */
export async function channelAt(server: TestServer, shard: FrontRow, status: FrontStatus): Promise<string> {
  for (;;) {
    const given = { name: `Of ${shard.id}`, owner_id: server.info.users[0]!.id };
    const { guild } = await server.admin<{ guild: { id: string } }>('/guilds', given);
    if (ownerOf(guild.id, status).id !== shard.id) continue;
    for (const { id } of server.info.bots)
      await server.admin(`/guilds/${guild.id}/members`, { user_id: id, permissions: '8' });
    const params = { guild_id: guild.id };
    const channels = await server
      .bot(1)
      .call<{ id: string; type: number }[]>('list_guild_channels', { params });
    return channels.find(({ type }) => type === 0)!.id;
  }
}

/** A stock bot, and the dispatches it received. */
export function botOf({ info }: TestServer) {
  const { api, cdn, bot } = info;
  const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
  const client = new Client({
    intents: [Guilds, GuildMessages, MessageContent],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const counts = { ready: 0, resumed: 0, guilds: 0 };
  /** Messages of people, in the order in which they came. */
  const seen: string[] = [];
  client.on(Events.Raw, ({ t, d }: { t: string; d: { id: string; type: number } }) => {
    if (t === 'READY') counts.ready += 1;
    if (t === 'RESUMED') counts.resumed += 1;
    if (t === 'GUILD_CREATE') counts.guilds += 1;
    if (t === 'MESSAGE_CREATE' && d.type === 0) seen.push(d.id);
  });
  const login = () =>
    Promise.all([
      new Promise((resolve) => client.once(Events.ClientReady, resolve)),
      client.login(bot.token),
    ]);
  return { client, counts, seen, login };
}

/** Messages that are written until the test stops it; one that was not answered is sent again under its nonce. */
interface Flow {
  /** Ids of the messages that were answered. */
  readonly answered: readonly string[];
  /** How often one had to be sent again. */
  readonly again: number;
  stop(): Promise<void>;
}

/** Writes to each channel with so many writers, and a pause after each message. */
export function flow(
  server: TestServer,
  channels: readonly string[],
  writers: number,
  pauseMs: number,
): Flow {
  const answered: string[] = [];
  const rest = server.bot(1);
  let [isOver, again] = [false, 0];
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const write = async (channel_id: string, nonce: string): Promise<void> => {
    const call = { params: { channel_id }, body: { content: nonce, nonce, enforce_nonce: true } };
    for (;;) {
      const answer = await rest.ask<{ id: string }>('create_message', call).catch(() => null);
      if (answer && answer.status < 500) {
        expect(answer.status).toBe(200);
        answered.push(answer.body.id);
        return;
      }
      again += 1;
      await pause(RETRY_MS);
    }
  };
  const running = channels.flatMap((channel) =>
    Array.from({ length: writers }, async (_, writer) => {
      for (let no = 0; !isOver; no += 1) {
        await write(channel, `${writer}.${no}`);
        await pause(pauseMs);
      }
    }),
  );
  return {
    answered,
    get again() {
      return again;
    },
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  };
}

/** Every message that somebody wrote in the channel, oldest first; not those that greet members. */
export async function history(server: TestServer, channel_id: string): Promise<string[]> {
  const ids: string[] = [];
  const written: string[] = [];
  for (;;) {
    const page = await server.bot(1).call<{ id: string; type: number }[]>('list_messages', {
      params: { channel_id },
      query: { limit: 100, ...(ids[0] !== undefined && { before: ids[0] }) },
    });
    ids.unshift(...page.map(({ id }) => id).reverse());
    written.unshift(...page.flatMap(({ id, type }) => (type === 0 ? [id] : [])).reverse());
    if (page.length < 100) return written;
  }
}
