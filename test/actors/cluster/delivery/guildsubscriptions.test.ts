// Goal: whoever tells a guild's stream, each session of the home has every dispatch once, and hears when nobody tells it.
import { describe, expect, it } from 'vitest';
import type { SessionFrame } from '../../../../actors/placement/ports.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import { followedGuild, GUILD, handleOf, numberOf, turn } from '../../../support/followedguild.ts';

/** A session that hears the guild of shard `a` up to 10. */
async function live(house: ReturnType<typeof followedGuild>, sessionId = 'one') {
  await house.own('a');
  const entered = house.enter(sessionId);
  const following = house.followed.subscribe(entered, GUILD, null);
  const question = await house.asked();
  expect(question.wanted[0]?.after).toBeNull();
  const handle = handleOf(question);
  house.home.frames('a', [house.following(handle, numberOf(1, 10))]);
  await question.answer('member');
  expect(await following).toBe('member');
  return { entered, handle };
}

describe('a followed guild', () => {
  it('continues at its new owner after the last received dispatch, and ignores its old owner', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    house.home.frames('a', [house.frame(numberOf(1, 11), handle), house.frame(numberOf(1, 12), handle)]);
    await house.own('b', 2);
    const question = await house.asked();
    expect([question.to, question.wanted[0]?.after]).toEqual(['b', numberOf(1, 12)]);
    const next = handleOf(question);
    house.home.frames('a', [house.frame(numberOf(1, 13), handle)]);
    house.home.frames('b', [
      house.frame(numberOf(1, 13), next),
      house.following(next, numberOf(2, 0)),
      house.frame(numberOf(2, 1), next),
    ]);
    await question.answer('member');
    expect(house.heard(entered)).toEqual(['1:11', '1:12', '1:13', '2:1']);
  });

  it('delivers a dispatch that says how many sessions of this shard receive it', async () => {
    const house = followedGuild();
    const { handle } = await live(house);
    house.home.frames('a', [house.frame(numberOf(1, 11), handle, 998, 999)]);
    expect(house.recipients).toEqual([3]);
  });

  it('continues at the position that the replaced session had received, not at that of other sessions', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    const other = house.enter('other');
    house.home.frames('a', [house.frame(numberOf(1, 11), handle)]);
    house.followed.sessionReplaced(entered, GUILD, numberOf(1, 11));
    house.followed.sessionReplaced(other, GUILD, numberOf(1, 11));
    // The cursors of the other sessions here do not move this session's cursor.
    house.home.frames('a', [house.frame(numberOf(1, 14))]);
    house.clock.advance(200);
    const question = await house.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([numberOf(1, 11)]);
    house.home.frames('a', [house.frame(numberOf(1, 12), handle), house.following(handle, numberOf(1, 14))]);
    await question.answer('member');
    expect(house.heard(entered)).toEqual(['1:11', '1:12']);
  });

  it('is not sent GUILD_CREATE again to a session that has it when the user joins again', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    house.home.frames('a', [house.frame(numberOf(1, 11), handle)]);
    const joined = house.followed.subscribe(entered, GUILD, null);
    const question = await house.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([numberOf(1, 11)]);
    house.home.frames('a', [house.following(handle, numberOf(1, 11))]);
    await question.answer('member');
    expect(await joined).toBe('member');
  });

  it('drops dispatches that its owner repeats after it lost and regained the guild', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    await house.own('a', 2);
    const question = await house.asked();
    // On its way when the guild was lost, and told again by who has it now.
    house.home.frames('a', [
      house.frame(numberOf(1, 11), handle),
      house.following(handle, numberOf(1, 11)),
      house.frame(numberOf(1, 11), handle),
      house.following(handle, numberOf(2, 0)),
    ]);
    await question.answer('member');
    house.home.frames('a', [house.frame(numberOf(2, 1), handle)]);
    expect(house.heard(entered)).toEqual(['1:11', '2:1']);
  });

  it('is requested after the last position of each session when a request is lost midway', async () => {
    const house = followedGuild();
    const one = await live(house, 'one');
    const two = house.enter('two');
    void house.followed.subscribe(two, GUILD, null);
    const joined = await house.asked();
    house.home.frames('a', [house.following(handleOf(joined), numberOf(1, 10))]);
    await joined.answer('member');
    await house.own('b', 2);
    const question = await house.asked();
    const handles = [handleOf(question, 0), handleOf(question, 1)] as const;
    // The first has got all, the second a part of it, when the link breaks.
    house.home.frames('b', [
      ...[house.frame(numberOf(1, 11), ...handles), house.frame(numberOf(1, 12), handles[0])],
      ...[house.following(handles[0], numberOf(2, 0)), house.frame(numberOf(2, 1), handles[0])],
    ]);
    house.home.broken('b');
    await question.answer(new NotServed('lost'));
    house.clock.advance(1000);
    const again = await house.asked();
    const afters = again.wanted.map(({ session, after }) => [session.session.sessionId, after]);
    expect(Object.fromEntries(afters)).toEqual({ one: numberOf(2, 1), two: numberOf(1, 11) });
    // A frame under the earlier peer epoch reaches no session.
    house.home.frames('b', [house.frame(numberOf(2, 2), ...handles)]);
    expect([house.heard(one.entered), house.heard(two)]).toEqual([['1:11', '1:12', '2:1'], ['1:11']]);
  });

  it('is sent whole to a session that was away for too long, but not to a session that is resuming', async () => {
    const house = followedGuild();
    const { entered } = await live(house);
    await house.own('b', 2);
    const question = await house.asked();
    await question.answer('tooOld');
    const anew = await house.asked();
    expect(anew.wanted[0]?.after).toBeNull();
    house.home.frames('b', [house.following(handleOf(anew), numberOf(2, 20))]);
    await anew.answer('member');
    const resumed = house.followed.subscribe(house.enter('resumed'), GUILD, 5, true);
    const strict = await house.asked();
    expect(strict.wanted[0]?.after).toBe(5);
    await strict.answer('tooOld');
    expect(await resumed).toBe('tooOld');
    // A client ignores a guild that it knows, unless it was away.
    expect(house.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}","unavailable":true}`]);
  });

  it('becomes unavailable once after ten seconds without an owner, and is requested whole from the next', async () => {
    const house = followedGuild();
    const { entered } = await live(house);
    await house.own(null);
    for (let second = 0; second < 9; second += 1) {
      house.clock.advance(1000);
      await turn();
    }
    expect(house.heard(entered)).toEqual([]);
    for (let second = 0; second < 20; second += 1) {
      house.clock.advance(1000);
      await turn();
    }
    expect(house.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}","unavailable":true}`]);
    await house.own('b', 2);
    expect((await house.asked()).wanted[0]?.after).toBeNull();
  });

  it('sends only GUILD_DELETE to a session whose removal its next owner reports', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    await house.own('b', 2);
    await (await house.asked()).answer('gone');
    // Sent by the old owner while the user was still a member.
    house.home.frames('a', [house.frame(numberOf(1, 11), handle)]);
    expect(house.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    expect(house.followed.stream(GUILD)).toBeUndefined();
    expect(entered.guildIds.size).toBe(0);
  });

  it("is received directly from its own shard, and elsewhere after its actor's last position", async () => {
    const house = followedGuild();
    await house.own('self');
    const entered = house.enter('one');
    const following = house.followed.subscribe(entered, GUILD, null);
    const question = await house.asked();
    expect(question.to).toBe('here');
    await question.answer('member');
    expect(await following).toBe('member');
    house.followed.guildReleased(GUILD, numberOf(1, 77));
    await house.own('b', 2);
    expect((await house.asked()).wanted[0]?.after).toBe(numberOf(1, 77));
  });

  it.each([
    ['at once when the session has ended', null],
    ['when a session that moves should have arrived', 15_000],
  ] as const)('unsubscribes a session at its own shard %s', async (_how, keptMs) => {
    const house = followedGuild();
    await house.own('self');
    const entered = house.enter('one');
    void house.followed.subscribe(entered, GUILD, null);
    await (await house.asked()).answer('member');
    house.followed.leave(entered, keptMs);
    expect(house.followed.stream(GUILD)).toBeUndefined();
    expect(house.left).toEqual(keptMs === null ? [entered.session] : []);
    house.clock.advance(16_000);
    expect(house.left).toEqual([entered.session]);
  });

  it('is requested after its last position when its user rejoins while no shard serves it', async () => {
    const house = followedGuild();
    const { entered } = await live(house);
    await house.own(null);
    void house.followed.subscribe(entered, GUILD, null);
    expect(house.heard(entered)).toEqual([]);
    await house.own('b', 2);
    house.clock.advance(1000);
    expect((await house.asked()).wanted[0]?.after).toBe(numberOf(1, 10));
  });

  it('is kept when its user rejoins before the removal is received', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    void house.followed.subscribe(entered, GUILD, null);
    const question = await house.asked();
    const left = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    house.home.frames('a', [
      { ...house.frame(numberOf(1, 11), handle), ...left } as SessionFrame,
      house.following(handle, numberOf(1, 12)),
    ]);
    await question.answer('member');
    await house.own('b', 2);
    expect((await house.asked()).wanted[0]?.after).toBe(numberOf(1, 12));
    expect(house.heard(entered)).toEqual(['1:11']);
  });

  it('accepts dispatches of its owner while the directory shows no owner, so that none is lost when it returns', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    await house.own('a', 2);
    const first = await house.asked();
    await house.own(null);
    house.home.frames('a', [house.frame(numberOf(2, 1), handle), house.following(handle, numberOf(2, 1))]);
    await house.own('a', 2);
    await first.answer('member');
    const second = await house.asked();
    expect(second.wanted[0]?.after).toBe(numberOf(2, 1));
    house.home.frames('a', [house.following(handle, numberOf(2, 1)), house.frame(numberOf(2, 2), handle)]);
    await second.answer('member');
    expect(house.heard(entered)).toEqual(['2:1', '2:2']);
  });

  it('accepts dispatches of the next owner only, once there is one', async () => {
    const house = followedGuild();
    const { entered, handle } = await live(house);
    await house.own(null);
    await house.own('b', 2);
    const question = await house.asked();
    house.home.frames('a', [house.frame(numberOf(1, 11), handle)]);
    expect(house.heard(entered)).toEqual([]);
    house.home.frames('b', [house.frame(numberOf(1, 11), handleOf(question))]);
    expect(house.heard(entered)).toEqual(['1:11']);
  });

  it("continues after GUILD_CREATE when its owner is lost before it sends the session's position", async () => {
    const house = followedGuild();
    await house.own('a');
    const entered = house.enter('one');
    const subscribed = house.followed.subscribe(entered, GUILD, null);
    const first = await house.asked();
    const created = { t: 'GUILD_CREATE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    house.home.frames('a', [{ ...house.frame(numberOf(1, 5), handleOf(first)), ...created }]);
    await first.answer('member');
    expect(await subscribed).toBe('member');
    await house.own('b', 2);
    const second = await house.asked();
    expect([second.to, second.wanted[0]?.after]).toEqual(['b', numberOf(1, 5)]);
  });

  it('is requested once more only after the answer in flight, when its user leaves and rejoins in between', async () => {
    const house = followedGuild();
    const { entered } = await live(house);
    await house.own('a', 2);
    const first = await house.asked();
    const handle = handleOf(first);
    await first.answer('member');
    // The owner has removed and added the member; what it has sent of that is still on its way.
    void house.followed.subscribe(entered, GUILD, null);
    house.clock.advance(1000);
    await expect(house.asked()).rejects.toThrow('0 questions');
    house.home.frames('a', [house.frame(numberOf(1, 11), handle), house.following(handle, numberOf(2, 0))]);
    house.clock.advance(1000);
    const second = await house.asked();
    expect(second.wanted[0]?.after).toBe(numberOf(2, 0));
    const left = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    house.home.frames('a', [
      { ...house.frame(numberOf(2, 3), handle), ...left } as SessionFrame,
      house.frame(numberOf(2, 1), handle),
    ]);
    expect(house.heard(entered)).toEqual(['1:11', '2:3']);
    // The request is lost; the owner would not see the removal from the position behind it.
    await second.answer(new NotServed('lost'));
    house.clock.advance(1000);
    expect((await house.asked()).wanted[0]?.after).toBeNull();
  });

  it('is requested whole when the answer in flight says that its user had left, who has rejoined since', async () => {
    const house = followedGuild();
    const { entered } = await live(house);
    await house.own('b', 2);
    const first = await house.asked();
    const rejoined = house.followed.subscribe(entered, GUILD, null);
    await first.answer('gone');
    expect(house.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    house.clock.advance(1000);
    const second = await house.asked();
    expect(second.wanted[0]?.after).toBeNull();
    await second.answer('member');
    expect(await rejoined).toBe('member');
  });

  it('continues after the last position of an actor that subscribed its sessions while it was leaving', async () => {
    const house = followedGuild();
    const { entered } = await live(house);
    await house.own('self', 2);
    const question = await house.asked();
    await house.own(null);
    question.wanted[0]?.caughtUp?.(numberOf(2, 3));
    house.followed.guildReleased(GUILD, numberOf(2, 4));
    await question.answer('member');
    await house.own('b', 3);
    expect((await house.asked()).wanted[0]?.after).toBe(numberOf(2, 4));
    expect(house.heard(entered)).toEqual([]);
  });

  it('sends GUILD_DELETE to sessions that have not caught up when their user leaves', async () => {
    const house = followedGuild();
    const [away, back] = [await live(house, 'away'), await live(house, 'back')];
    await house.own('self', 2);
    const question = await house.asked();
    const [first, second] = question.wanted;
    expect(first?.session).toBe(away.entered.session);
    second?.caughtUp?.(numberOf(2, 1));
    // The guild itself has notified the sessions that receive its stream.
    house.followed.memberRemoved(GUILD, '1', numberOf(2, 1));
    await question.answer('gone');
    expect([house.heard(away.entered), house.heard(back.entered)]).toEqual([
      [`GUILD_DELETE {"id":"${GUILD}"}`],
      [],
    ]);
    expect(house.followed.stream(GUILD)).toBeUndefined();
  });

  it('sends GUILD_DELETE to a session whose user left while an earlier actor of this shard was ending', async () => {
    const house = followedGuild();
    await house.own('self');
    const entered = house.enter('one');
    void house.followed.subscribe(entered, GUILD, null);
    await (await house.asked()).answer('member');
    await house.own('self', 2);
    const question = await house.asked();
    // The actor of epoch 2 removes the member; it has never delivered to the session.
    house.followed.memberRemoved(GUILD, '1', numberOf(2, 1));
    await question.answer('gone');
    expect(house.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    expect(house.followed.stream(GUILD)).toBeUndefined();
  });

  it('sends GUILD_DELETE to a resumed session whose user left before a remote owner had sent what it missed', async () => {
    const house = followedGuild();
    await house.own('a');
    const entered = house.enter('one');
    const resumed = house.followed.subscribe(entered, GUILD, numberOf(1, 10), true);
    await (await house.asked()).answer('member');
    expect(await resumed).toBe('member');
    await house.own('b', 2);
    await (await house.asked()).answer('gone');
    expect(house.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    expect(house.followed.stream(GUILD)).toBeUndefined();
  });

  it('continues where its sessions stopped receiving, though this shard owned it again meanwhile', async () => {
    const house = followedGuild();
    await house.own('self');
    void house.followed.subscribe(house.enter('one'), GUILD, null);
    await (await house.asked()).answer('member');
    await house.own('b', 2);
    house.followed.guildReleased(GUILD, numberOf(1, 77));
    const late = await house.asked();
    // While the question to that one is under way the guild is here and gone again.
    await house.own('self', 3);
    house.followed.guildReleased(GUILD, numberOf(3, 5));
    await house.own('b', 4);
    await late.answer(new NotServed('lost'));
    house.clock.advance(1000);
    expect((await house.asked()).wanted[0]?.after).toBe(numberOf(1, 77));
  });
});
