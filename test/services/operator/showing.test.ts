// Goal: the operator sees single records as they are, and a deleted guild is gone for its members.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { openHouse } from '../../support/house.ts';

let house: Awaited<ReturnType<typeof openHouse>>;
let ownerId: UserId;
let guildId: GuildId;
beforeAll(async () => {
  house = await openHouse();
  ownerId = (await house.operator.createUser({ username: 'cedar' })).user.id as UserId;
  guildId = (await house.operator.createGuild({ name: 'Jetty', ownerId })).id as GuildId;
});
afterAll(() => house.close());

describe('the operator', () => {
  test('sees a guild with its counts, channels and bots', async () => {
    const { application } = await house.operator.createApplication({ name: 'Gull', guildId });
    const { guild, channels, bots } = await house.operator.showGuild(guildId);
    expect(guild).toMatchObject({ id: guildId, name: 'Jetty', approximate_member_count: 2 });
    expect(channels.length).toBeGreaterThan(0);
    expect(bots.map(({ id }) => id)).toEqual([application.id]);
  });

  test('sees a user with its guilds and the number of its tokens', async () => {
    expect(await house.operator.showUser(ownerId)).toMatchObject({
      user: { id: ownerId },
      guildIds: [guildId],
      tokens: 1,
      banned: false,
    });
  });

  test('sees an application with its bot', async () => {
    const { application, bot } = await house.operator.createApplication({ name: 'Tern' });
    const shown = await house.operator.showApplication(application.id);
    expect([shown.application.name, shown.bot?.id, shown.commands]).toEqual(['Tern', bot.id, 0]);
  });

  test('deletes a guild, which nobody is a member of afterwards', async () => {
    await house.operator.deleteGuild(guildId);
    await expect(house.operator.showGuild(guildId)).rejects.toThrow(guildId);
    expect((await house.operator.showUser(ownerId)).guildIds).toEqual([]);
  });
});
