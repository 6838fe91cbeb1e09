// Goal: a guild whose owner may not decide for a while answers reads, and changes nothing.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NotServed } from '../../../protocol/faults.ts';
import { ANN, FollowingSession, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  guild.close();
  expect(guild.faults).toEqual([]);
});

const info = () => guild.call('getGuild', { withCounts: false });

it('a suspended guild answers reads and rejects commands that would change it', async () => {
  const ann = new FollowingSession('a1', ANN);
  await guild.enter([ann]);
  const known = await info();
  guild.owner.serves = false;
  await expect(guild.say(SQUARE, 'now', 'key')).rejects.toBeInstanceOf(NotServed);
  expect(await info()).toEqual(known);
  expect([guild.owner.waiting, ann.messages]).toEqual([[], []]);

  guild.owner.serves = true;
  const saying = guild.say(SQUARE, 'now', 'key');
  await settleAll();
  guild.owner.settle();
  expect(await saying).toMatchObject({ ok: true });
  expect(ann.messages).toEqual(['now']);
});

it('a suspended guild is not loaded when it is not in memory or its actor has ended', async () => {
  guild.owner.serves = false;
  await expect(info()).rejects.toBeInstanceOf(NotServed);
  guild.owner.serves = true;
  await info();
  guild.owner.serves = false;
  guild.owner.registry.abandon(() => true);
  await expect(info()).rejects.toBeInstanceOf(NotServed);
});
