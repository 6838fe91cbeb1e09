// Goal: a person's client holds the rows of member lists that it requested, wherever its session and the guild are, and is shown
// no list that its user may not see.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import { heldRows } from '../support/rowholder.ts';

let cluster: TestCluster;
let world: Awaited<ReturnType<TestCluster['found']>>;
let folder: string | null = null;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(async () => {
  cluster.close();
  if (folder) await rm(folder, { recursive: true });
  folder = null;
});

async function open(shards = 2): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-lists-'));
  cluster = await openCluster(shards, { journal_dir: folder });
  world = await cluster.found();
}

async function person(username: string) {
  const { operator } = cluster.instance(0);
  const { user, token } = await cluster.while(operator.createUser({ username }));
  const userId = user.id as UserId;
  await cluster.while(operator.addMember({ guildId: world.guildId, userId }));
  return { userId, token };
}

/** Connects and waits for GUILD_CREATE. */
async function connected(instance: ClusterInstance, token: string) {
  const opened = await cluster.while(instance.connect(token));
  await cluster.until(() => opened.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  return opened;
}

type Client = Awaited<ReturnType<typeof connected>>;

const channelId = async (): Promise<ChannelId> => {
  const { guilds } = cluster.ownerOf(world.guildId);
  const found = await cluster.while(
    guilds.look(world.guildId, ({ channels }) => [...channels.values()].find(({ type }) => type === 0)?.id),
  );
  return found as ChannelId;
};

const call = <K extends keyof GuildCommands>(type: K, input: GuildCommands[K]['input']) =>
  cluster.while(cluster.ownerOf(world.guildId).guilds.call(world.guildId, type, input, SYSTEM));

async function ask(client: Client, memberIds: UserId[] = [], ranges: [number, number][] = [[0, 99]]) {
  const channels = ranges.length > 0 ? [{ channelId: await channelId(), ranges }] : [];
  client.session.ask({ name: 'memberList', input: { guildId: world.guildId, channels, memberIds, atMs: 0 } });
}

const holds = (client: Client, rows: readonly string[]) =>
  cluster.until(() => heldRows(client.sink.dispatches).join() === rows.join(), rows.join());

describe('a client with ranges of a member list', () => {
  it.each(['ownerOf', 'strangerTo'] as const)(
    'holds their rows while members come, change and leave, on the shard that is %s the guild',
    async (where) => {
      await open();
      const [asking, other] = [await person('asking'), await person('other')];
      const client = await connected(cluster[where](world.guildId), asking.token);
      await ask(client);
      await holds(client, [
        'online 1',
        'asking online',
        'offline 3',
        'Bot offline',
        'other offline',
        'owner offline',
      ]);
      const second = await connected(cluster.instance(0), other.token);
      const both = ['online 2', 'asking online', 'other online', 'offline 2', 'Bot offline', 'owner offline'];
      await holds(client, both);
      second.session.ask({
        name: 'presence',
        input: { since: null, activities: [], status: 'idle', afk: false } as never,
      });
      await holds(
        client,
        both.map((row) => (row === 'other online' ? 'other idle' : row)),
      );
      await person('newcomer');
      await holds(client, [
        ...[
          'online 2',
          'asking online',
          'other idle',
          'offline 3',
          'Bot offline',
          'newcomer offline',
          'owner offline',
        ],
      ]);
    },
  );

  it('holds them after the guild moved to another owner, and after the owner crashed', async () => {
    await open(3);
    const [asking, other] = [await person('asking'), await person('other')];
    const home = cluster.strangerTo(world.guildId);
    const client = await connected(home, asking.token);
    await ask(client, [], [[0, 1]]);
    await holds(client, ['online 1', 'asking online']);
    const third = cluster.instances.find((each) => each !== home && each !== cluster.ownerOf(world.guildId));
    await cluster.move(world.guildId, third as ClusterInstance);
    await connected(home, other.token);
    await holds(client, ['online 2', 'asking online']);
    const orphaned = cluster.kill(third as ClusterInstance);
    await cluster.adopt(home, orphaned);
    await cluster.until(() => heldRows(client.sink.dispatches).length === 2, 'rows');
    await person('newcomer');
    await cluster.pass(20_000);
    expect(heldRows(client.sink.dispatches)).toEqual(['online 2', 'asking online']);
    const updates = client.sink.names.filter((name) => name === 'GUILD_MEMBER_LIST_UPDATE');
    expect(updates.length).toBeGreaterThan(3);
  });

  it('holds them after its session was resumed at another shard', async () => {
    await open(3);
    const [asking, other] = [await person('asking'), await person('other')];
    const [owner, first] = [cluster.ownerOf(world.guildId), cluster.strangerTo(world.guildId)];
    const second = cluster.instances.find((each) => each !== owner && each !== first) as ClusterInstance;
    const client = await connected(first, asking.token);
    await ask(client);
    await cluster.until(() => heldRows(client.sink.dispatches).length > 0, 'the rows');
    const { seq } = client.session;
    const resumed = await cluster.while(second.resume(asking.token, client.session.id, seq));
    expect(resumed.outcome.kind).toBe('open');
    await connected(cluster.instance(0), other.token);
    await cluster.until(() => heldRows(resumed.sink.dispatches)[0] === 'online 2', 'the rows again');
    expect(heldRows(resumed.sink.dispatches)).toContain('other online');
  });

  it('holds them after its session was resumed from the journal of a crashed shard', async () => {
    await open(3);
    const [asking, other] = [await person('asking'), await person('other')];
    const first = cluster.strangerTo(world.guildId);
    const client = await connected(first, asking.token);
    await ask(client);
    await cluster.until(() => heldRows(client.sink.dispatches).length > 0, 'the rows');
    await cluster.pass(1_000);
    const { seq } = client.session;
    const orphaned = cluster.kill(first);
    const next = cluster.strangerTo(world.guildId);
    await cluster.adopt(next, orphaned);
    const resumed = await cluster.while(next.resume(asking.token, client.session.id, seq));
    expect(resumed.outcome.kind).toBe('open');
    await connected(next, other.token);
    await cluster.until(() => heldRows(resumed.sink.dispatches).includes('other online'), 'the rows again');
  });

  it('is sent the presences of members whom it names, although the guild is large', async () => {
    await open();
    const people = await Promise.all([person('asking'), person('other')]);
    for (let n = 0; n < 50; n += 1) await person('crowd');
    const [asking, other] = people;
    const client = await connected(cluster.strangerTo(world.guildId), asking.token);
    const second = await connected(cluster.instance(0), other.token);
    await cluster.pass(2_000);
    const statuses = () =>
      client.sink.dispatches
        .filter(
          ({ t, d }) => t === 'PRESENCE_UPDATE' && (d as { user: { id: string } }).user.id === other.userId,
        )
        .map(({ d }) => (d as { status: string }).status);
    expect(statuses()).toEqual([]);
    await ask(client, [other.userId], []);
    await cluster.until(() => statuses().length === 1, 'the presence');
    second.session.ask({
      name: 'presence',
      input: { since: null, activities: [], status: 'dnd', afk: false } as never,
    });
    await cluster.until(() => statuses().length === 2, 'the change');
    expect(statuses()).toEqual(['online', 'dnd']);
  });

  it('is sent nothing more after it asks for no ranges, and after its user left the guild', async () => {
    await open();
    const [first, second] = [await person('first'), await person('second')];
    const [staying, leaving] = [
      await connected(cluster.instance(0), first.token),
      await connected(cluster.instance(1), second.token),
    ];
    for (const client of [staying, leaving]) await ask(client);
    for (const client of [staying, leaving])
      await cluster.until(() => heldRows(client.sink.dispatches)[0] === 'online 2', 'the rows');
    await ask(staying, [], []);
    await call('kickMember', { userId: second.userId });
    const before = [staying, leaving].map(({ sink }) => heldRows(sink.dispatches));
    await person('newcomer');
    await cluster.pass(2_000);
    expect([staying, leaving].map(({ sink }) => heldRows(sink.dispatches))).toEqual(before);
  });

  it('is shown no list of a channel that its user does not see, and no more of one that becomes private', async () => {
    await open();
    const asking = await person('asking');
    const client = await connected(cluster.instance(0), asking.token);
    await ask(client);
    await cluster.until(() => heldRows(client.sink.dispatches).length > 0, 'the rows');
    const overwrite = { id: world.guildId, type: 0, allow: '0', deny: String(P.VIEW_CHANNEL) } as const;
    await call('setOverwrite', { channelId: await channelId(), overwrite });
    await cluster.pass(1_000);
    const before = client.sink.names.filter((name) => name === 'GUILD_MEMBER_LIST_UPDATE').length;
    await person('newcomer');
    await ask(client);
    await cluster.pass(2_000);
    const after = client.sink.names.filter((name) => name === 'GUILD_MEMBER_LIST_UPDATE').length;
    expect(after).toBe(before);
  });
});
