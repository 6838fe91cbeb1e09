// Goal: direct messages are delivered once, in order and completely, whichever shard dies, loses ownership or is cut off.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import { holdsOverFaults, inOrder, SHARDS } from '../support/faultrun.ts';
import { ResumingClient } from '../support/resumingclient.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

let cluster: TestCluster;
let folder: string;
let names = 0;
afterEach(close);

async function close(): Promise<void> {
  cluster.close();
  await rm(folder, { recursive: true, force: true });
}

async function open(shards: number): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-direct-'));
  cluster = await openCluster(shards, { journal_dir: folder });
}

const wait = <T>(promise: Promise<T>): Promise<T> => cluster.while(promise);

interface Person {
  readonly userId: UserId;
  readonly token: string;
  readonly authority: Authority;
}

/** @param owner The shard that owns the new user. */
async function person(owner?: ClusterInstance): Promise<Person> {
  for (;;) {
    const { user, token } = await wait(
      cluster.instance(0).operator.createUser({ username: `one${names++}` }),
    );
    const userId = user.id as UserId;
    if (owner && cluster.ownerOf(userId) !== owner) continue;
    const by = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    return { userId, token, authority: { by, requires: 0n } };
  }
}

/** Two people and the channel between them. */
async function pair(annOwner?: ClusterInstance, bobOwner?: ClusterInstance, channelOwner?: ClusterInstance) {
  for (;;) {
    const [ann, bob] = [await person(annOwner), await person(bobOwner)];
    const opened = await wait(cluster.instance(0).openPrivate(ann.userId, bob.userId));
    if (!opened.ok) throw new Error(opened.refusal.message);
    const { id: channelId } = opened.value;
    if (channelOwner && cluster.ownerOf(channelId) !== channelOwner) continue;
    return { ann, bob, channelId };
  }
}

const say = (
  instance: ClusterInstance,
  channelId: ChannelId,
  content: string,
  { authority }: Person,
  nonce: string | null = null,
) => {
  const draft = { content, flags: null, nonce, ...(nonce && { enforce_nonce: true }) };
  const input = { ...{ channelId, draft }, ...{ carried: {}, attachments: [], forward: null } };
  return instance.inPrivate(channelId, 'createMessage', input as never, authority);
};

const contents = ({ received }: ResumingClient): string[] =>
  received.flatMap(({ t, d }) => (t === 'MESSAGE_CREATE' ? [(d as { content: string }).content] : []));

async function resumingClient({ token }: Person, home: ClusterInstance): Promise<ResumingClient> {
  const made = new ResumingClient(cluster, token, home);
  await made.identify('READY');
  return made;
}

/** Bob's session at the first shard has received a message of Ann; the second shard owns Bob, the third the channel. */
async function reading() {
  await open(3);
  const [first, second, third] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
  const { ann, bob, channelId } = await pair(first, second, third);
  const client = await resumingClient(bob, first);
  await wait(say(third, channelId, 'text 0', ann));
  await cluster.until(() => contents(client).length === 1, 'the first');
  return { first, second, third, ann, channelId, client };
}

const texts = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `text ${from + index}`);

describe('a direct message', () => {
  it('is delivered by the owner shards of its readers when the channel’s owner died before sending it', async () => {
    await open(3);
    const [first, second, third] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
    const { ann, bob, channelId } = await pair(first, second, third);
    const clients = [
      await resumingClient(ann, first),
      await resumingClient(bob, first),
      await resumingClient(bob, second),
    ];
    await wait(say(first, channelId, 'text 0', ann));
    await cluster.until(() => clients.every((each) => contents(each).length === 1), 'the first');
    // From here on no frame of the channel's owner shard arrives.
    cluster.net.delayMs = () => 60_000;
    const lost = say(third, channelId, 'text 1', ann);
    expect(await wait(lost)).toMatchObject({ ok: true });
    cluster.net.delayMs = () => 0;
    const orphaned = cluster.kill(third);
    await cluster.adopt(second, orphaned);
    await cluster.until(() => clients.every((each) => contents(each).length === 2), 'the second');
    await wait(say(first, channelId, 'text 2', bob));
    await cluster.until(() => clients.every((each) => contents(each).length === 3), 'the third');
    for (const client of clients) {
      expect(contents(client)).toEqual(texts(3));
      inOrder(client);
    }
  });

  it('is delivered by the reader’s next owner shard when the previous one died before forwarding it', async () => {
    const { second, third, ann, channelId, client } = await reading();
    const orphaned = cluster.kill(second);
    for (const text of texts(3, 1)) await wait(say(third, channelId, text, ann));
    await cluster.adopt(third, orphaned);
    await cluster.until(() => contents(client).length === 4, 'what was said meanwhile');
    expect(contents(client)).toEqual(texts(4));
    inOrder(client);
  });

  it('is replayed once on RESUME when it was sent while the session’s home shard was dead', async () => {
    const { first, second, third, ann, channelId, client } = await reading();
    client.lose();
    const orphaned = cluster.kill(first);
    for (const text of texts(2, 1)) await wait(say(third, channelId, text, ann));
    await cluster.adopt(second, orphaned);
    expect(await client.resume(third)).toBe('open');
    await cluster.until(() => contents(client).length === 3, 'what was said meanwhile');
    await wait(say(second, channelId, 'text 3', ann));
    // A live home shard hands the session over.
    expect(await client.resume(second)).toBe('open');
    await wait(say(second, channelId, 'text 4', ann));
    await cluster.until(() => contents(client).length === 5, 'the last');
    await cluster.pass(200);
    expect(contents(client)).toEqual(texts(5));
    inOrder(client);
  });

  it('is not delivered to a session that began later, even when its user and channel change shards', async () => {
    await open(2);
    const { ann, bob, channelId } = await pair();
    for (const text of texts(2)) await wait(say(cluster.instance(0), channelId, text, ann));
    await cluster.pass(5000);
    const client = await resumingClient(bob, cluster.instance(0));
    await cluster.move(bob.userId, cluster.strangerTo(bob.userId));
    await cluster.move(channelId, cluster.strangerTo(channelId));
    await cluster.pass(500);
    expect(contents(client)).toEqual([]);
    await wait(say(cluster.instance(1), channelId, 'text 2', ann));
    await cluster.until(() => contents(client).length === 1, 'the next');
    expect(contents(client)).toEqual(texts(1, 2));
  });

  it('is stored once when it is sent again under its nonce to the next owner of its channel', async () => {
    await open(2);
    const { ann, channelId } = await pair();
    const first = await wait(say(cluster.instance(0), channelId, 'text 0', ann, 'n1'));
    await cluster.move(channelId, cluster.strangerTo(channelId));
    const again = await wait(say(cluster.instance(0), channelId, 'text 0', ann, 'n1'));
    const idOf = (reply: typeof first) => reply.ok && (reply.value as { message: { id: string } }).message.id;
    expect(idOf(first)).toMatch(/^\d+$/);
    expect(idOf(again)).toBe(idOf(first));
  });

  it('is delivered before its edit and its deletion when the reader’s owner shard dies in between', async () => {
    await open(2);
    const { ann, bob, channelId } = await pair();
    const client = await resumingClient(bob, cluster.strangerTo(bob.userId));
    const said = await wait(say(cluster.instance(0), channelId, 'text 0', ann));
    if (!said.ok) throw new Error(said.refusal.message);
    const messageId = (said.value as { message: { id: string } }).message.id as never;
    await cluster.until(() => contents(client).length === 1, 'the message');
    const orphaned = cluster.kill(cluster.ownerOf(bob.userId));
    const { instance } = { instance: cluster.strangerTo(bob.userId) };
    const edit = { content: 'changed' };
    const edited = instance.inPrivate(
      channelId,
      'updateMessage',
      { ...{ channelId, messageId, edit }, ...{ keep: null, attachments: [], carried: {} } } as never,
      ann.authority,
    );
    await cluster.adopt(instance, orphaned);
    expect(await wait(edited)).toMatchObject({ ok: true });
    const gone = instance.inPrivate(channelId, 'deleteMessage', { channelId, messageId }, ann.authority);
    expect(await wait(gone)).toMatchObject({ ok: true });
    const names = () => client.received.flatMap(({ t }) => (t.startsWith('MESSAGE') ? [t] : []));
    await cluster.until(() => names().length === 3, 'the changes');
    expect(names()).toEqual(['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE']);
    inOrder(client);
  });
});

/** Two people: one writes to the other. Each shard has a client of one of them. */
async function arrange() {
  await open(SHARDS);
  const { ann, bob, channelId } = await pair();
  const clients: ResumingClient[] = [];
  for (const [index, instance] of cluster.instances.entries())
    clients.push(await resumingClient(index % 2 === 0 ? ann : bob, instance));
  return {
    ...{ cluster, clients, streamId: channelId, userIds: [ann.userId, bob.userId], textsOf: contents, close },
    say: (instance: ClusterInstance, text: string) => say(instance, channelId, text, ann),
  };
}

describe('people who write to each other', () => {
  it(
    'receive every message once and in order over crashes, ownership moves and broken links',
    () => holdsOverFaults(arrange),
    300_000,
  );
});

const created = ({ received }: ResumingClient) => received.filter(({ t }) => t === 'CHANNEL_CREATE');
const groupOf = (ownerId: UserId) => ({ ownerId, name: null, icon: null, applicationId: null, nicks: {} });

describe('a new group', () => {
  it('is shown to its recipients by the first dispatches of its stream', async () => {
    await open(2);
    const [ann, bob] = [(await person()).userId, (await person()).userId];
    const instance = cluster.instance(0);
    const id = instance.nextId();
    const opened = await wait(instance.privates.openGroup(id, [ann, bob], groupOf(ann)));
    expect(opened.ok).toBe(true);
    const records = await wait(cluster.storage.cluster.records(id, 0, 10));
    const shown = records.flatMap(({ dispatches }) => dispatches.map(({ t, to }) => ({ t, to })));
    expect(shown).toEqual(
      [ann, bob].map((userId) => ({ t: 'CHANNEL_CREATE', to: { kind: 'users', userIds: [userId] } })),
    );
  });

  it('is shown once when the request is repeated at its next owner, whether or not the previous one has shown it', async () => {
    await open(3);
    const [first, second, third] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
    const [ann, bob] = [await person(first), await person(first)];
    const clients = [await resumingClient(ann, first), await resumingClient(bob, second)];
    let id = third.nextId();
    while (cluster.ownerOf(id) !== third) id = third.nextId();
    const openGroup = (instance: ClusterInstance) =>
      wait(instance.privates.openGroup(id, [ann.userId, bob.userId], groupOf(ann.userId)));
    const opened = await openGroup(third);
    await cluster.until(() => clients.every((client) => created(client).length === 1), 'the group');
    expect(await openGroup(first)).toEqual(opened);
    const orphaned = cluster.kill(third);
    await cluster.adopt(second, orphaned);
    expect(await openGroup(first)).toEqual(opened);
    await cluster.pass(500);
    expect(clients.map((client) => created(client).length)).toEqual([1, 1]);
    for (const client of clients) inOrder(client);
  });

  it('is shown when it was stored without its owner learning so, and the request is repeated', async () => {
    await open(2);
    const [ann, bob] = [await person(), await person()];
    const instance = cluster.instance(0);
    const clients = [await resumingClient(ann, instance), await resumingClient(bob, instance)];
    const { writer } = cluster.storage;
    const commit = vi.spyOn(writer, 'commit').mockImplementationOnce(({ done, ...stored }) => {
      commit.mockRestore();
      writer.commit({ ...stored, done: (fault) => done(fault ?? new Error('The connection broke.')) });
    });
    const id = instance.nextId();
    const openGroup = () =>
      wait(instance.privates.openGroup(id, [ann.userId, bob.userId], groupOf(ann.userId)));
    await expect(openGroup()).rejects.toThrow();
    expect(await openGroup()).toMatchObject({ ok: true, value: { id, group: groupOf(ann.userId) } });
    await cluster.until(() => clients.every((client) => created(client).length === 1), 'the group');
  });
});
