// Goal: running activities are stored under their owner until they end, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ActivityInstance } from '../../engine/activity/instance.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const instance = (owner: number, application: number, launchId: string): ActivityInstance => ({
  ...{ ownerId: id(owner), guildId: id<GuildId>(owner), channelId: id<ChannelId>(10) },
  ...{ applicationId: id<ApplicationId>(application), launchId },
  connections: [{ userId: id<UserId>(9), connectionId: 'a', untilMs: 5 }],
});
const written = (one: ActivityInstance) => ({ type: 'activityInstanceWritten', instance: one }) as const;
const ended = ({ channelId, applicationId }: ActivityInstance) =>
  ({ type: 'activityInstanceEnded', channelId, applicationId }) as const;

describe.each(databases())('running activities on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  test('are read by owner as the last change left them, and not after their end', async () => {
    const { activities: store, writer } = fresh.storage;
    const [first, second, other] = [instance(1, 5, '101'), instance(1, 6, '102'), instance(2, 5, '103')];
    await commit(writer, id<GuildId>(1), written(first), written(second));
    await commit(writer, id<GuildId>(2), written(other));
    const later = { ...first, connections: [...first.connections, ...second.connections] };
    await commit(writer, id<GuildId>(1), written(later));
    expect(await store.ofOwner('1')).toEqual([later, second]);
    expect(await store.owners(null, 10)).toEqual(['1', '2']);
    expect(await store.owners('1', 10)).toEqual(['2']);
    await commit(writer, id<GuildId>(1), ended(first), ended(second));
    expect(await store.ofOwner('1')).toEqual([]);
    expect(await store.owners(null, 1)).toEqual(['2']);
  });
});
