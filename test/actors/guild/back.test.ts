// Goal: a session whose user was away from the guild for a while has it as it is when the user is a member again.
import { describe, expect, it } from 'vitest';
import { ANN, BOB, FollowingSession, OwnedGuild, settleAll } from '../../support/ownedguild.ts';

async function entered(guild: OwnedGuild, ...sessions: FollowingSession[]) {
  const entering = guild.enter(sessions);
  await settleAll();
  guild.owner.settle();
  return entering;
}

describe('a session', () => {
  it('whose user was put out and is back is shown the guild anew, and not that it was put out', async () => {
    const guild = new OwnedGuild();
    const bob = new FollowingSession('b1', BOB);
    await entered(guild, new FollowingSession('a1', ANN), bob);
    const acts = [
      guild.call('kickMember', { userId: BOB as never }),
      guild.call('addMember', { userId: BOB as never } as never, '0'),
    ];
    await settleAll();
    guild.owner.settle();
    expect((await Promise.all(acts)).map(({ ok }) => ok)).toEqual([true, true]);
    const back = new FollowingSession('b1', BOB);
    back.heard.push(['f', bob.heard.find(([kind]) => kind === 'f')?.[1] ?? 0]);
    expect(await entered(guild, back)).toEqual(['member']);
    const deleted = back.received.filter(({ t }) => t === 'GUILD_DELETE').map(({ d }) => d);
    expect(deleted).toEqual([expect.objectContaining({ unavailable: true })]);
    expect(back.received.filter(({ t }) => t === 'GUILD_CREATE')).toHaveLength(1);
    guild.close();
  });
});
