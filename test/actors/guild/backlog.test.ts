// Goal: a session that meets a full backlog keeps its guild.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NotServed } from '../../../protocol/faults.ts';
import { ANN, FollowingSession, OwnedGuild } from '../../support/ownedguild.ts';

/** The bound of `OwnedGuild`. */
const BACKLOG_MAX = 1_000;

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  guild.close();
  expect(guild.faults).toEqual([]);
});

it('a guild whose backlog is full does not answer a member that it does not exist', async () => {
  const calls = Array.from({ length: BACKLOG_MAX }, () => guild.call('getGuild', { withCounts: false }));
  const ann = new FollowingSession('a1', ANN);
  await expect(guild.enter([ann])).rejects.toBeInstanceOf(NotServed);
  await Promise.all(calls);
  expect(await guild.enter([ann])).toEqual(['member']);
});
