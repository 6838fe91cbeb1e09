// Goal: the operator sees single records as they are, and a deleted guild is gone for its members.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { openInstance } from '../../support/instance.ts';

let instance: Awaited<ReturnType<typeof openInstance>>;
let ownerId: UserId;
let guildId: GuildId;
beforeAll(async () => {
  instance = await openInstance();
  ownerId = (await instance.operator.createUser({ username: 'cedar' })).user.id as UserId;
  guildId = (await instance.operator.createGuild({ name: 'Jetty', ownerId })).id as GuildId;
});
afterAll(() => instance.close());

describe('the operator', () => {
  test('sees a guild with its counts, channels and bots', async () => {
    const { application } = await instance.operator.createApplication({ name: 'Gull', guildId });
    const { guild, channels, bots } = await instance.operator.showGuild(guildId);
    expect(guild).toMatchObject({ id: guildId, name: 'Jetty', approximate_member_count: 2 });
    expect(channels.length).toBeGreaterThan(0);
    expect(bots.map(({ id }) => id)).toEqual([application.id]);
  });

  test('sees a user with its guilds and the number of its tokens', async () => {
    expect(await instance.operator.showUser(ownerId)).toMatchObject({
      user: { id: ownerId },
      guildIds: [guildId],
      tokens: 1,
      banned: false,
    });
  });

  test('sees an application with its bot', async () => {
    const { application, bot } = await instance.operator.createApplication({ name: 'Tern' });
    const shown = await instance.operator.showApplication(application.id);
    expect([shown.application.name, shown.bot?.id, shown.commands]).toEqual(['Tern', bot.id, 0]);
  });

  test('deletes a guild, which has no members afterwards', async () => {
    await instance.operator.deleteGuild(guildId);
    await expect(instance.operator.showGuild(guildId)).rejects.toThrow(guildId);
    expect((await instance.operator.showUser(ownerId)).guildIds).toEqual([]);
  });
});
