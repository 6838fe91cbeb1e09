// Goal: a guild that nobody follows leaves memory, and one that a session follows does not.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Guilds } from '../../../actors/guild/guilds.ts';
import { HERE } from '../../../actors/placement/routing.ts';
import type { ChannelId, GuildId } from '../../../protocol/ids.ts';
import { GUILD_ID, OWNER_ID } from '../../support/guild.ts';
import { FollowingSession, IDLE_MS, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

const LONG_MS = 2 * IDLE_MS;

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  expect(guild.faults).toEqual([]);
  guild.close();
});

const isInMemory = async (): Promise<boolean> => {
  await settleAll();
  return new Guilds(guild.owner.registry, HERE).isResident(GUILD_ID as GuildId);
};

describe('a guild without commands', () => {
  it('leaves memory when no session follows it', async () => {
    await guild.call('getChannel', { channelId: SQUARE as ChannelId });
    expect(await isInMemory()).toBe(true);
    guild.clock.advance(LONG_MS);
    expect(await isInMemory()).toBe(false);
  });

  it('stays in memory while a session follows it', async () => {
    await guild.enter([new FollowingSession('s1', OWNER_ID)]);
    guild.clock.advance(LONG_MS);
    expect(await isInMemory()).toBe(true);
  });
});
