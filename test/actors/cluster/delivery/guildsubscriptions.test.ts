// Goal: whichever shard owns a guild, each subscribed session of this shard receives every dispatch once, and learns
// when the guild has no owner.
import { describe, expect, it } from 'vitest';
import type { SessionFrame } from '../../../../actors/placement/ports.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import { followedGuild, GUILD, handleOf, live, numberOf, turn } from '../../../support/followedguild.ts';

describe('a followed guild', () => {
  it('continues at its new owner after the last received dispatch, and ignores its old owner', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    instance.home.frames('a', [
      instance.frame(numberOf(1, 11), handle),
      instance.frame(numberOf(1, 12), handle),
    ]);
    await instance.own('b', 2);
    const question = await instance.asked();
    expect([question.to, question.wanted[0]?.after]).toEqual(['b', numberOf(1, 12)]);
    const next = handleOf(question);
    instance.home.frames('a', [instance.frame(numberOf(1, 13), handle)]);
    instance.home.frames('b', [
      instance.frame(numberOf(1, 13), next),
      instance.following(next, numberOf(2, 0)),
      instance.frame(numberOf(2, 1), next),
    ]);
    await question.answer('member');
    expect(instance.heard(entered)).toEqual(['1:11', '1:12', '1:13', '2:1']);
  });

  it('delivers a dispatch that says how many sessions of this shard receive it', async () => {
    const instance = followedGuild();
    const { handle } = await live(instance);
    instance.home.frames('a', [instance.frame(numberOf(1, 11), handle, 998, 999)]);
    expect(instance.recipients).toEqual([3]);
  });

  it('continues at the position that the replaced session had received, not at that of other sessions', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    const other = instance.enter('other');
    instance.home.frames('a', [instance.frame(numberOf(1, 11), handle)]);
    instance.followed.sessionReplaced(entered, GUILD, numberOf(1, 11));
    instance.followed.sessionReplaced(other, GUILD, numberOf(1, 11));
    // The cursors of the other sessions here do not move this session's cursor.
    instance.home.frames('a', [instance.frame(numberOf(1, 14))]);
    instance.clock.advance(200);
    const question = await instance.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([numberOf(1, 11)]);
    instance.home.frames('a', [
      instance.frame(numberOf(1, 12), handle),
      instance.following(handle, numberOf(1, 14)),
    ]);
    await question.answer('member');
    expect(instance.heard(entered)).toEqual(['1:11', '1:12']);
  });

  it('is not sent GUILD_CREATE again to a session that has it when the user joins again', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    instance.home.frames('a', [instance.frame(numberOf(1, 11), handle)]);
    const joined = instance.followed.subscribe(entered, GUILD, null);
    const question = await instance.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([numberOf(1, 11)]);
    instance.home.frames('a', [instance.following(handle, numberOf(1, 11))]);
    await question.answer('member');
    expect(await joined).toBe('member');
  });

  it('drops dispatches that its owner repeats after it lost and regained the guild', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('a', 2);
    const question = await instance.asked();
    // In flight when the guild was lost, and sent again by its next owner.
    instance.home.frames('a', [
      instance.frame(numberOf(1, 11), handle),
      instance.following(handle, numberOf(1, 11)),
      instance.frame(numberOf(1, 11), handle),
      instance.following(handle, numberOf(2, 0)),
    ]);
    await question.answer('member');
    instance.home.frames('a', [instance.frame(numberOf(2, 1), handle)]);
    expect(instance.heard(entered)).toEqual(['1:11', '2:1']);
  });

  it('is requested after the last position of each session when a request is lost midway', async () => {
    const instance = followedGuild();
    const one = await live(instance, 'one');
    const two = instance.enter('two');
    void instance.followed.subscribe(two, GUILD, null);
    const joined = await instance.asked();
    instance.home.frames('a', [instance.following(handleOf(joined), numberOf(1, 10))]);
    await joined.answer('member');
    await instance.own('b', 2);
    const question = await instance.asked();
    const handles = [handleOf(question, 0), handleOf(question, 1)] as const;
    // The first has got all, the second a part of it, when the link breaks.
    instance.home.frames('b', [
      ...[instance.frame(numberOf(1, 11), ...handles), instance.frame(numberOf(1, 12), handles[0])],
      ...[instance.following(handles[0], numberOf(2, 0)), instance.frame(numberOf(2, 1), handles[0])],
    ]);
    instance.home.broken('b');
    await question.answer(new NotServed('lost'));
    instance.clock.advance(1000);
    const again = await instance.asked();
    const afters = again.wanted.map(({ session, after }) => [session.session.sessionId, after]);
    expect(Object.fromEntries(afters)).toEqual({ one: numberOf(2, 1), two: numberOf(1, 11) });
    // A frame under the earlier peer epoch reaches no session.
    instance.home.frames('b', [instance.frame(numberOf(2, 2), ...handles)]);
    expect([instance.heard(one.entered), instance.heard(two)]).toEqual([['1:11', '1:12', '2:1'], ['1:11']]);
  });

  it('is sent whole to a session that was away for too long, but not to a session that is resuming', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own('b', 2);
    const question = await instance.asked();
    await question.answer('tooOld');
    const repeated = await instance.asked();
    expect(repeated.wanted[0]?.after).toBeNull();
    instance.home.frames('b', [instance.following(handleOf(repeated), numberOf(2, 20))]);
    await repeated.answer('member');
    const resumed = instance.followed.subscribe(instance.enter('resumed'), GUILD, 5, true);
    const strict = await instance.asked();
    expect(strict.wanted[0]?.after).toBe(5);
    await strict.answer('tooOld');
    expect(await resumed).toBe('tooOld');
    // A client ignores a guild that it knows, unless it was away.
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}","unavailable":true}`]);
  });

  it('becomes unavailable once after thirty seconds without an owner, and is requested whole from the next', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own(null);
    for (let second = 0; second < 29; second += 1) {
      instance.clock.advance(1000);
      await turn();
    }
    expect(instance.heard(entered)).toEqual([]);
    for (let second = 0; second < 20; second += 1) {
      instance.clock.advance(1000);
      await turn();
    }
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}","unavailable":true}`]);
    await instance.own('b', 2);
    expect((await instance.asked()).wanted[0]?.after).toBeNull();
  });

  it('sends only GUILD_DELETE to a session whose removal its next owner reports', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('b', 2);
    await (await instance.asked()).answer('gone');
    // Sent by the old owner while the user was still a member.
    instance.home.frames('a', [instance.frame(numberOf(1, 11), handle)]);
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    expect(instance.followed.stream(GUILD)).toBeUndefined();
    expect(entered.guildIds.size).toBe(0);
  });

  it("is received directly from its own shard, and elsewhere after its actor's last position", async () => {
    const instance = followedGuild();
    await instance.own('self');
    const entered = instance.enter('one');
    const following = instance.followed.subscribe(entered, GUILD, null);
    const question = await instance.asked();
    expect(question.to).toBe('here');
    await question.answer('member');
    expect(await following).toBe('member');
    instance.followed.guildReleased(GUILD, numberOf(1, 77));
    await instance.own('b', 2);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(1, 77));
  });

  it.each([
    ['at once when the session has ended', null],
    ['when a session that moves should have arrived', 15_000],
  ] as const)('unsubscribes a session at its own shard %s', async (_how, keptMs) => {
    const instance = followedGuild();
    await instance.own('self');
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    await (await instance.asked()).answer('member');
    instance.followed.leave(entered, keptMs);
    expect(instance.followed.stream(GUILD)).toBeUndefined();
    expect(instance.left).toEqual(keptMs === null ? [entered.session] : []);
    instance.clock.advance(16_000);
    expect(instance.left).toEqual([entered.session]);
  });

  it('is requested after its last position when its user rejoins while no shard serves it', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own(null);
    void instance.followed.subscribe(entered, GUILD, null);
    expect(instance.heard(entered)).toEqual([]);
    await instance.own('b', 2);
    instance.clock.advance(1000);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(1, 10));
  });

  it('is kept when its user rejoins before the removal is received', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    void instance.followed.subscribe(entered, GUILD, null);
    const question = await instance.asked();
    const left = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    instance.home.frames('a', [
      { ...instance.frame(numberOf(1, 11), handle), ...left } as SessionFrame,
      instance.following(handle, numberOf(1, 12)),
    ]);
    await question.answer('member');
    await instance.own('b', 2);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(1, 12));
    expect(instance.heard(entered)).toEqual(['1:11']);
  });

  it('accepts dispatches of its owner while the directory shows no owner, so that none is lost when it returns', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('a', 2);
    const first = await instance.asked();
    await instance.own(null);
    instance.home.frames('a', [
      instance.frame(numberOf(2, 1), handle),
      instance.following(handle, numberOf(2, 1)),
    ]);
    await instance.own('a', 2);
    await first.answer('member');
    const second = await instance.asked();
    expect(second.wanted[0]?.after).toBe(numberOf(2, 1));
    instance.home.frames('a', [
      instance.following(handle, numberOf(2, 1)),
      instance.frame(numberOf(2, 2), handle),
    ]);
    await second.answer('member');
    expect(instance.heard(entered)).toEqual(['2:1', '2:2']);
  });

  it('accepts dispatches of the next owner only, once there is one', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own(null);
    await instance.own('b', 2);
    const question = await instance.asked();
    instance.home.frames('a', [instance.frame(numberOf(1, 11), handle)]);
    expect(instance.heard(entered)).toEqual([]);
    instance.home.frames('b', [instance.frame(numberOf(1, 11), handleOf(question))]);
    expect(instance.heard(entered)).toEqual(['1:11']);
  });

  it("continues after GUILD_CREATE when its owner is lost before it sends the session's position", async () => {
    const instance = followedGuild();
    await instance.own('a');
    const entered = instance.enter('one');
    const subscribed = instance.followed.subscribe(entered, GUILD, null);
    const first = await instance.asked();
    const created = { t: 'GUILD_CREATE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    instance.home.frames('a', [{ ...instance.frame(numberOf(1, 5), handleOf(first)), ...created }]);
    await first.answer('member');
    expect(await subscribed).toBe('member');
    await instance.own('b', 2);
    const second = await instance.asked();
    expect([second.to, second.wanted[0]?.after]).toEqual(['b', numberOf(1, 5)]);
  });

  it("gives a session the position of GUILD_CREATE also when its owner is lost before it sends one, and others' news do not move it", async () => {
    const instance = followedGuild();
    const { entered: other } = await live(instance, 'other');
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    const first = await instance.asked();
    const created = { t: 'GUILD_CREATE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    await instance.own(null);
    expect(instance.cursor(entered)).toBeNull();
    instance.home.frames('a', [{ ...instance.frame(numberOf(1, 12), handleOf(first)), ...created }]);
    expect([instance.cursor(other), instance.cursor(entered)]).toEqual(['1:10', '1:12']);
    await instance.own('b', 2);
    await first.answer(new NotServed('lost'));
    instance.clock.advance(1000);
    const second = await instance.asked();
    const [otherHandle = 0] = second.wanted.flatMap(({ session }) =>
      session.session.sessionId === 'other' ? [session.session.handle] : [],
    );
    instance.home.frames('b', [
      instance.following(otherHandle, numberOf(2, 0)),
      instance.frame(numberOf(2, 1), otherHandle),
    ]);
    expect([instance.cursor(other), instance.cursor(entered)]).toEqual(['2:1', '1:12']);
  });

  it('is requested once more only after the answer in flight, when its user leaves and rejoins in between', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own('a', 2);
    const first = await instance.asked();
    const handle = handleOf(first);
    await first.answer('member');
    // The owner has removed and added the member; what it has sent of that is still on its way.
    void instance.followed.subscribe(entered, GUILD, null);
    instance.clock.advance(1000);
    await expect(instance.asked()).rejects.toThrow('0 questions');
    instance.home.frames('a', [
      instance.frame(numberOf(1, 11), handle),
      instance.following(handle, numberOf(2, 0)),
    ]);
    instance.clock.advance(1000);
    const second = await instance.asked();
    expect(second.wanted[0]?.after).toBe(numberOf(2, 0));
    const left = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    instance.home.frames('a', [
      { ...instance.frame(numberOf(2, 3), handle), ...left } as SessionFrame,
      instance.frame(numberOf(2, 1), handle),
    ]);
    expect(instance.heard(entered)).toEqual(['1:11', '2:3']);
    // The request is lost; the owner would not see the removal from the position behind it.
    await second.answer(new NotServed('lost'));
    instance.clock.advance(1000);
    expect((await instance.asked()).wanted[0]?.after).toBeNull();
  });

  it('is requested whole when the answer in flight says that its user had left, who has rejoined since', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own('b', 2);
    const first = await instance.asked();
    const rejoined = instance.followed.subscribe(entered, GUILD, null);
    await first.answer('gone');
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    instance.clock.advance(1000);
    const second = await instance.asked();
    expect(second.wanted[0]?.after).toBeNull();
    await second.answer('member');
    expect(await rejoined).toBe('member');
  });

  it('continues after the last position of an actor that subscribed its sessions while it was leaving', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own('self', 2);
    const question = await instance.asked();
    await instance.own(null);
    question.wanted[0]?.caughtUp?.(numberOf(2, 3));
    instance.followed.guildReleased(GUILD, numberOf(2, 4));
    await question.answer('member');
    await instance.own('b', 3);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(2, 4));
    expect(instance.heard(entered)).toEqual([]);
  });

  it('continues after the last position of an actor that was leaving when the user joined once more', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own('self', 2);
    const question = await instance.asked();
    await instance.own(null);
    question.wanted[0]?.caughtUp?.(numberOf(2, 3));
    void instance.followed.subscribe(entered, GUILD, null);
    instance.followed.guildReleased(GUILD, numberOf(2, 4));
    await question.answer('member');
    await instance.own('b', 3);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(2, 4));
  });

  it('continues after the last position of an actor that was leaving when the session was resumed', async () => {
    const instance = followedGuild();
    await instance.own('self');
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    await (await instance.asked()).answer('member');
    void instance.followed.subscribe(entered, GUILD, numberOf(1, 5), true);
    const question = await instance.asked();
    await instance.own(null);
    instance.followed.guildReleased(GUILD, numberOf(1, 77));
    await question.answer('member');
    await instance.own('b', 2);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(1, 77));
  });

  it('sends GUILD_DELETE to sessions that have not caught up when their user leaves', async () => {
    const instance = followedGuild();
    const [away, back] = [await live(instance, 'away'), await live(instance, 'back')];
    await instance.own('self', 2);
    const question = await instance.asked();
    const [first, second] = question.wanted;
    expect(first?.session).toBe(away.entered.session);
    second?.caughtUp?.(numberOf(2, 1));
    // The guild itself has notified the sessions that receive its stream.
    instance.followed.memberRemoved(GUILD, '1', numberOf(2, 1));
    await question.answer('gone');
    expect([instance.heard(away.entered), instance.heard(back.entered)]).toEqual([
      [`GUILD_DELETE {"id":"${GUILD}"}`],
      [],
    ]);
    expect(instance.followed.stream(GUILD)).toBeUndefined();
  });

  it('sends GUILD_DELETE to a session whose user left while an earlier actor of this shard was ending', async () => {
    const instance = followedGuild();
    await instance.own('self');
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    await (await instance.asked()).answer('member');
    await instance.own('self', 2);
    const question = await instance.asked();
    // The actor of epoch 2 removes the member; it has never delivered to the session.
    instance.followed.memberRemoved(GUILD, '1', numberOf(2, 1));
    await question.answer('gone');
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    expect(instance.followed.stream(GUILD)).toBeUndefined();
  });

  it('sends GUILD_DELETE to a resumed session whose user left before a remote owner had sent what it missed', async () => {
    const instance = followedGuild();
    await instance.own('a');
    const entered = instance.enter('one');
    const resumed = instance.followed.subscribe(entered, GUILD, numberOf(1, 10), true);
    await (await instance.asked()).answer('member');
    expect(await resumed).toBe('member');
    await instance.own('b', 2);
    await (await instance.asked()).answer('gone');
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
    expect(instance.followed.stream(GUILD)).toBeUndefined();
  });

  it('continues where its sessions stopped receiving, though this shard owned it again meanwhile', async () => {
    const instance = followedGuild();
    await instance.own('self');
    void instance.followed.subscribe(instance.enter('one'), GUILD, null);
    await (await instance.asked()).answer('member');
    await instance.own('b', 2);
    instance.followed.guildReleased(GUILD, numberOf(1, 77));
    const late = await instance.asked();
    // While the question to that one is under way the guild is here and gone again.
    await instance.own('self', 3);
    instance.followed.guildReleased(GUILD, numberOf(3, 5));
    await instance.own('b', 4);
    await late.answer(new NotServed('lost'));
    instance.clock.advance(1000);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(1, 77));
  });
});
