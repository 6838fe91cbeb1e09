// Goal: a damaged journal of a dead shard ends only the sessions whose dispatches are damaged, and is logged once.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { ChannelId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';

let folder: string;
let cluster: TestCluster;
let world: Awaited<ReturnType<TestCluster['found']>>;
let victim: ClusterInstance;
let heir: ClusterInstance;

beforeAll(async () => (await openCluster(1)).close(), 60_000);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-damage-'));
  cluster = await openCluster(3, { journal_dir: folder });
  world = await cluster.found();
  victim = cluster.strangerTo(world.guildId);
  heir = cluster.ownerOf(world.guildId);
});
afterEach(async () => {
  cluster.close();
  await rm(folder, { recursive: true });
});

const by = () => ({
  ...{ userId: world.ownerId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
});

async function rename(name: string): Promise<void> {
  const authority = { by: by(), requires: 0n };
  await cluster.while(heir.guilds.call(world.guildId, 'updateGuild', { draft: { name } }, authority));
}

/** Sends a message, which only sessions with the intent for messages receive. */
async function say(content: string): Promise<void> {
  const look = heir.guilds.look(world.guildId, ({ channels }) => [...channels.values()]);
  const channels = (await cluster.while(look)) as { id: ChannelId; type: number }[];
  const channelId = channels.find(({ type }) => type === 0)?.id as ChannelId;
  const input = { channelId, draft: { content }, attachments: [], forward: null };
  const authority = { by: by(), requires: 0n, channelId };
  await cluster.while(heir.guilds.call(world.guildId, 'createMessage', input, authority));
}

type Connected = Awaited<ReturnType<ClusterInstance['connect']>>;

/** A session that has received GUILD_CREATE at the shard that dies later. */
async function connected(token: string, intents: number): Promise<Connected> {
  const opened = await cluster.while(victim.connect(token, intents));
  await cluster.until(() => opened.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  return opened;
}

const told = async (text: string, ...all: readonly Connected[]): Promise<void> => {
  const isTold = ({ sink }: Connected) => JSON.stringify(sink.dispatches).includes(text);
  await cluster.until(() => all.every(isTold), text);
  await cluster.pass(50);
};

/** The first bytes of each batch in a journal. */
const MAGIC = 'GHJ1';

/** Flips a bit in the journal of the dead shard, at the last occurrence of a text. */
async function damage(where: string): Promise<void> {
  const path = join(folder, `${victim.id}.${victim.info.instance}`);
  for (const name of (await readdir(path)).filter((each) => each.endsWith('.journal'))) {
    const bytes = await readFile(join(path, name));
    const at = bytes.lastIndexOf(where);
    if (at < 0) continue;
    bytes[at] = (bytes[at] as number) ^ 0x10;
    await writeFile(join(path, name), bytes);
    return;
  }
  throw new Error(`${where} is not in the journal.`);
}

/** Kills the shard, damages its journal, and resumes its clients from one before their last dispatch. */
async function afterwards(where: string, tokens: readonly (readonly [string, Connected])[]) {
  const orphaned = cluster.kill(victim);
  await damage(where);
  await cluster.adopt(heir, orphaned);
  const warned = vi.spyOn(heir.foundation.logger, 'warn');
  const outcomes: string[] = [];
  for (const [token, { sink, session }] of tokens) {
    const seq = sink.dispatches.length - 1;
    const back = await cluster.while(heir.resume(token, session.id, seq));
    outcomes.push(back.outcome.kind);
    if (back.outcome.kind !== 'open') continue;
    await cluster.until(() => back.sink.names.includes('RESUMED'), 'RESUMED');
    expect(back.sink.dispatches[0]).toEqual(sink.dispatches[seq]);
  }
  const lines = warned.mock.calls.filter(([, text]) => /journal is damaged/.test(String(text)));
  return { outcomes, lines: lines.map(([details]) => details) };
}

it('a damaged journal ends the session whose dispatch is damaged, and the others resume', async () => {
  const owner = await connected(world.ownerToken, INTENTS.GUILDS | INTENTS.GUILD_MESSAGES);
  const bot = await connected(world.botToken, INTENTS.GUILDS);
  await say('to one of them');
  await rename('for all');
  await told('for all', owner, bot);
  const { outcomes, lines } = await afterwards('to one of', [
    [world.ownerToken, owner],
    [world.botToken, bot],
  ]);
  expect(outcomes).toEqual(['invalid', 'open']);
  expect(lines).toEqual([{ shard: victim.id, instance: victim.info.instance, damages: 1 }]);
});

it('a journal with a damaged batch header ends every session whose last dispatch is in that batch', async () => {
  const bots = [
    await connected(world.botToken, INTENTS.GUILDS),
    await connected(world.botToken, INTENTS.GUILDS),
  ];
  await rename('the last');
  await told('the last', ...bots);
  const { outcomes, lines } = await afterwards(
    MAGIC,
    bots.map((bot) => [world.botToken, bot] as const),
  );
  expect(outcomes).toEqual(['invalid', 'invalid']);
  expect(lines).toMatchObject([{ shard: victim.id, damages: 1 }]);
});
