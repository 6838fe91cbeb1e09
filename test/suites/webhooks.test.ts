// Goal: webhooks are found by id, guild and what they follow, and work for followers is kept until it is done, on every database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WEBHOOK, type Webhook } from '../../engine/webhook/webhook.ts';
import type { ChannelId, GuildId, MessageId, WebhookId } from '../../protocol/ids.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const [GUILD, CHANNEL, NEWS] = [id<GuildId>(1), id<ChannelId>(10), id<ChannelId>(70)];

const webhook = (hookId: number, more: Partial<Webhook> = {}): Webhook => ({
  id: id<WebhookId>(hookId),
  type: WEBHOOK.INCOMING,
  guild_id: GUILD,
  channel_id: CHANNEL,
  name: `hook ${hookId}`,
  avatar: null,
  application_id: null,
  ...more,
});
const follower = (hookId: number): Webhook =>
  webhook(hookId, {
    type: WEBHOOK.CHANNEL_FOLLOWER,
    source_guild: { id: id<GuildId>(7), name: 'Harbour', icon: null },
    source_channel: { id: NEWS, name: 'news' },
  });

describe.each(databases())('webhooks on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());
  const create = async (...all: readonly Webhook[]) => {
    for (const each of all)
      await commit(fresh.storage.writer, GUILD, { type: 'webhookCreated', webhook: each });
  };

  beforeEach(async () => {
    for (const { id: webhookId } of await fresh.storage.webhooks.ofGuild(GUILD))
      await commit(fresh.storage.writer, GUILD, { type: 'webhookDeleted', webhookId, channelId: CHANNEL });
  });

  test('are found by id and by guild, as they were last written', async () => {
    const { webhooks: store, writer } = fresh.storage;
    await create(webhook(102), webhook(101));
    expect((await store.ofGuild(GUILD)).map((each) => each.id)).toEqual(['101', '102']);
    const renamed = webhook(101, { name: 'Crier', channel_id: id(11) });
    await commit(writer, GUILD, { type: 'webhookUpdated', webhook: renamed, movedFrom: CHANNEL });
    expect(await store.get(id(101))).toEqual(renamed);
    await commit(writer, GUILD, { type: 'webhookDeleted', webhookId: id(101), channelId: id(11) });
    expect(await store.get(id(101))).toBeNull();
    expect(await store.get(id(999))).toBeNull();
  });

  test('are deleted with their channel', async () => {
    const { webhooks: store, writer } = fresh.storage;
    await create(webhook(101), webhook(102, { channel_id: id(11) }));
    await commit(writer, GUILD, { type: 'channelDeleted', channel: { id: CHANNEL } as never });
    expect((await store.ofGuild(GUILD)).map((each) => each.id)).toEqual(['102']);
    expect(await store.get(id(101))).toBeNull();
  });

  test('are listed in pages by the channel that they follow', async () => {
    const { webhooks: store } = fresh.storage;
    await create(webhook(101), follower(103), follower(102), follower(104));
    const idsOf = async (...args: Parameters<typeof store.followers>) =>
      (await store.followers(...args)).map((each) => each.id);
    expect(await idsOf(NEWS, null, 2)).toEqual(['102', '103']);
    expect(await idsOf(NEWS, id(103), 2)).toEqual(['104']);
    expect(await idsOf(CHANNEL, null, 2)).toEqual([]);
  });

  test('have copies that are found by their original', async () => {
    const { webhooks: store, writer } = fresh.storage;
    const key = { sourceId: id<MessageId>(800), webhookId: id<WebhookId>(102) };
    const copy = { ...key, channelId: CHANNEL, messageId: id<MessageId>(900) };
    await commit(writer, GUILD, { type: 'crosspostCopied', ...copy });
    expect(await store.copies(GUILD, [key, { ...key, sourceId: id(801) }])).toEqual([copy]);
    expect(await store.copies(id(2), [key])).toEqual([]);
  });

  test('queue crossposts in order, with the changes of one message merged until they are done', async () => {
    const { webhooks: store, writer } = fresh.storage;
    const queue = (messageId: number, at: number, creates: boolean) => ({
      ...{ type: 'crosspostQueued' as const, id: String(at), channelId: NEWS },
      ...{ messageId: id<MessageId>(messageId), creates },
    });
    await commit(writer, GUILD, queue(800, 21, true), queue(800, 22, false), queue(801, 23, false));
    const [first, second] = await store.crossposts(null, 10);
    expect(first).toEqual({ guildId: '1', channelId: '70', messageId: '800', id: '22', creates: true });
    expect(second).toMatchObject({ messageId: '801', creates: false });
    expect((await store.crossposts(null, 1)).map(({ id }) => id)).toEqual(['22']);
    expect((await store.crossposts('22', 10)).map(({ id }) => id)).toEqual(['23']);
    await commit(writer, GUILD, queue(800, 24, false));
    if (first) await store.dropCrosspost(first);
    expect((await store.crossposts(null, 10)).map((each) => [each.id, each.creates])).toEqual([
      ['23', false],
      ['24', true],
    ]);
    for (const done of await store.crossposts(null, 10)) await store.dropCrosspost(done);
    expect(await store.crossposts(null, 10)).toEqual([]);
  });
});
