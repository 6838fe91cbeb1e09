// Goal: a subscription to a guild survives what breaks around it: owners that are lost, links that break, actors that
// crash, sessions that have ended, and the end of the shard.
import { describe, expect, it, vi } from 'vitest';
import type { SessionFrame } from '../../../../actors/placement/ports.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import { INTENTS } from '../../../../protocol/intents.ts';
import { followedGuild, GUILD, handleOf, live, numberOf, turn } from '../../../support/followedguild.ts';

describe('a followed guild', () => {
  it('answers its callers ten seconds after its owner was lost, although they subscribed later', async () => {
    const instance = followedGuild();
    await instance.own(null);
    instance.clock.advance(5_000);
    await instance.own(null);
    instance.clock.advance(4_000);
    const failed = vi.fn();
    instance.followed.subscribe(instance.enter('one'), GUILD, null).catch(failed);
    for (const [ms, times] of [
      [900, 0],
      [1_000, 1],
    ] as const) {
      for (let passed = 0; passed < ms; passed += 100) {
        instance.clock.advance(100);
        await turn();
      }
      expect(failed).toHaveBeenCalledTimes(times);
    }
  });

  it('counts the time without an owner from the latest loss', async () => {
    const instance = followedGuild();
    await instance.own(null);
    await instance.own('a');
    instance.clock.advance(20_000);
    await instance.own(null);
    const failed = vi.fn();
    instance.followed.subscribe(instance.enter('one'), GUILD, null).catch(failed);
    instance.clock.advance(5_000);
    await turn();
    expect(failed).not.toHaveBeenCalled();
  });

  it('is requested again from its last position only when the links to its owner break', async () => {
    const instance = followedGuild();
    const { handle } = await live(instance);
    instance.home.peer('c', 'c');
    instance.home.broken('c');
    await expect(instance.asked()).rejects.toThrow('0 questions');
    instance.home.frames('a', [instance.frame(numberOf(1, 11), handle)]);
    instance.home.broken('a');
    const question = await instance.asked();
    expect([question.to, question.wanted[0]?.after]).toEqual(['a', numberOf(1, 11)]);
    expect(handleOf(question)).not.toBe(handle);
  });

  it('ignores a position that is reported under an ended peer epoch, or by a shard that is not its source', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    const ended = instance.home.peer('a', 'a');
    instance.home.broken('a');
    const question = await instance.asked();
    instance.followed.caughtUp(ended, entered, GUILD, numberOf(1, 20));
    expect([instance.cursor(entered), instance.followed.stream(GUILD)?.n]).toEqual(['1:10', numberOf(1, 10)]);
    await instance.own('self', 2);
    await question.answer(new NotServed('lost'));
    instance.clock.advance(1_000);
    expect((await instance.asked()).to).toBe('here');
    instance.followed.caughtUp(instance.home.peer('a', 'a'), entered, GUILD, numberOf(2, 5));
    expect([instance.cursor(entered), instance.followed.stream(GUILD)?.n]).toEqual(['1:10', numberOf(1, 10)]);
  });

  it('answers for a session that has ended without its owner, which ignores it', async () => {
    const instance = followedGuild();
    await instance.own('a');
    const entered = instance.enter('one');
    const first = instance.followed.subscribe(entered, GUILD, null);
    const question = await instance.asked();
    Object.assign(entered.session, { over: true });
    const second = instance.followed.subscribe(entered, GUILD, null);
    await question.answer('member');
    expect(await Promise.all([first, second])).toEqual(['member', 'gone']);
    expect(instance.followed.stream(GUILD)).toBeUndefined();
  });

  it('answers at once for a session that this shard delivers to, also when the session has ended', async () => {
    const instance = followedGuild();
    await instance.own('self');
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    await (await instance.asked()).answer('member');
    Object.assign(entered.session, { over: true });
    expect(await instance.followed.subscribe(entered, GUILD, null)).toBe('member');
  });

  it('does not move the position of a session after GUILD_CREATE by late dispatches for other sessions', async () => {
    const instance = followedGuild();
    const { entered: other, handle } = await live(instance, 'other');
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    const question = await instance.asked();
    const created = { t: 'GUILD_CREATE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    await instance.own(null);
    instance.home.frames('a', [
      { ...instance.frame(numberOf(1, 12), handleOf(question)), ...created } as SessionFrame,
      instance.frame(numberOf(1, 13), handle),
    ]);
    expect([instance.cursor(other), instance.cursor(entered)]).toEqual(['1:13', '1:12']);
  });

  it('is requested from where its failed actor ended, also while a request is in flight', async () => {
    const instance = followedGuild();
    await instance.own('self');
    const [one, other] = [instance.enter('one'), instance.enter('other')];
    void instance.followed.subscribe(one, GUILD, numberOf(1, 3));
    const first = await instance.asked();
    for (const { caughtUp } of first.wanted) caughtUp?.(numberOf(1, 5));
    await first.answer('member');
    const subscribing = instance.followed.subscribe(other, GUILD, numberOf(1, 4));
    const unanswered = await instance.asked();
    instance.followed.guildLost('10', null, numberOf(1, 9));
    instance.followed.guildLost(GUILD, null, numberOf(1, 9));
    await unanswered.answer(new Error('The actor failed.'));
    expect(await subscribing).toBe('member');
    instance.clock.advance(200);
    const again = await instance.asked();
    expect(again.wanted.map(({ session, after }) => [session, after])).toEqual([
      [other.session, numberOf(1, 4)],
      [one.session, numberOf(1, 9)],
    ]);
    expect([instance.heard(one), instance.heard(other)]).toEqual([[], []]);
  });

  it('is requested at once from the position of its sessions when its actor failed at another shard', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    instance.followed.guildLost(GUILD, 'b', 0);
    instance.followed.guildLost('10', 'a', 0);
    await expect(instance.asked()).rejects.toThrow('0 questions');
    instance.followed.guildLost(GUILD, 'a', 0);
    expect((await instance.asked()).wanted[0]?.after).toBe(numberOf(1, 10));
    expect(instance.heard(entered)).toEqual([]);
  });

  it('is requested as soon as the guild is loaded, and only once', async () => {
    const instance = followedGuild();
    await instance.own('self');
    const one = instance.enter('one');
    void instance.followed.subscribe(one, GUILD, numberOf(1, 3));
    const first = await instance.asked();
    for (const { caughtUp } of first.wanted) caughtUp?.(numberOf(1, 5));
    await first.answer('member');
    instance.followed.guildLost(GUILD, null, numberOf(1, 5));
    await (await instance.asked()).answer(new Error('The guild cannot be read.'));
    instance.followed.guildLoaded('10');
    await expect(instance.asked()).rejects.toThrow('0 questions');
    instance.followed.guildLoaded(GUILD);
    const second = await instance.asked();
    expect(second.wanted.map(({ session }) => session)).toEqual([one.session]);
    instance.followed.guildLoaded(GUILD);
    for (const { caughtUp } of second.wanted) caughtUp?.(numberOf(1, 6));
    await second.answer('member');
    instance.clock.advance(60_000);
    await expect(instance.asked()).rejects.toThrow('0 questions');
  });

  it('is requested from its start at its next owner when a session received it as unavailable', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    const unavailable = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}","unavailable":true}`) };
    instance.home.frames('a', [{ ...instance.frame(1, handle), ...unavailable } as SessionFrame]);
    expect(instance.heard(entered)).toEqual(['0:1']);
    await instance.own('b', 2);
    expect((await instance.asked()).wanted[0]?.after).toBeNull();
  });

  it('sends a session that has the guild nothing of an earlier epoch of its owner', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('self', 2);
    const here = await instance.asked();
    for (const { caughtUp } of here.wanted) caughtUp?.(numberOf(2, 5));
    await here.answer('member');
    await instance.own('a', 3);
    const question = await instance.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([numberOf(2, 5)]);
    const next = handleOf(question);
    const withdrawn = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}","unavailable":true}`) };
    const created = { t: 'GUILD_CREATE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    const late = [
      { ...instance.frame(numberOf(1, 12), handle), ...withdrawn } as SessionFrame,
      { ...instance.frame(numberOf(1, 12), handle), ...created } as SessionFrame,
      instance.frame(numberOf(1, 13), handle),
    ].map((each) => instance.under(1, each));
    instance.home.frames('a', [...late, instance.following(next, numberOf(3, 0))]);
    await question.answer('member');
    instance.home.frames('a', [instance.under(3, instance.frame(numberOf(3, 1), next))]);
    expect(instance.heard(entered)).toEqual(['3:1']);
  });

  it('is requested with GUILD_CREATE when an earlier epoch of its owner reported it as unavailable late', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('b', 2);
    const between = await instance.asked();
    await instance.own('a', 3);
    await between.answer(new NotServed('lost'));
    instance.clock.advance(200);
    const question = await instance.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([numberOf(1, 10)]);
    const withdrawn = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}","unavailable":true}`) };
    instance.home.frames('a', [
      { ...instance.frame(1, handle), ...withdrawn } as SessionFrame,
      instance.following(handle, numberOf(3, 0)),
    ]);
    await question.answer('member');
    instance.clock.advance(200);
    expect((await instance.asked()).wanted.map(({ after }) => after)).toEqual([null]);
    expect(instance.heard(entered)).toEqual(['0:1']);
  });

  it('is requested with GUILD_CREATE from its next owner when it became unavailable during a request', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('a', 3);
    const first = await instance.asked();
    const withdrawn = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}","unavailable":true}`) };
    instance.home.frames('a', [{ ...instance.frame(1, handle), ...withdrawn } as SessionFrame]);
    await first.answer('member');
    const second = await instance.asked();
    // It answers the first request; the owner is lost before it has the second.
    instance.home.frames('a', [instance.following(handleOf(first), numberOf(3, 0))]);
    await instance.own('b', 4);
    await second.answer(new NotServed('lost'));
    instance.clock.advance(300);
    expect((await instance.asked()).wanted.map(({ after }) => after)).toEqual([null]);
    expect(instance.heard(entered)).toEqual(['0:1']);
  });

  it('sends no GUILD_DELETE as unavailable to a session that it has dismissed', async () => {
    const instance = followedGuild();
    await live(instance, 'other');
    const entered = instance.enter('one');
    const subscribing = instance.followed.subscribe(entered, GUILD, numberOf(1, 5));
    const question = await instance.asked();
    await question.answer('gone');
    expect(await subscribing).toBe('gone');
    const withdrawn = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}","unavailable":true}`) };
    instance.home.frames('a', [
      { ...instance.frame(numberOf(1, 12), handleOf(question)), ...withdrawn } as SessionFrame,
    ]);
    expect(instance.heard(entered)).toEqual([`GUILD_DELETE {"id":"${GUILD}"}`]);
  });

  it('loses nothing of what an earlier epoch of its owner sent while another owner was seen', async () => {
    const instance = followedGuild();
    const { entered, handle } = await live(instance);
    await instance.own('b', 2);
    instance.home.frames('a', [instance.under(1, instance.frame(numberOf(1, 11), handle))]);
    const between = await instance.asked();
    await instance.own('a', 3);
    await between.answer(new NotServed('lost'));
    instance.clock.advance(200);
    const question = await instance.asked();
    const repeated = [numberOf(1, 11), numberOf(1, 12)].map((n) =>
      instance.under(3, instance.frame(n, handle)),
    );
    instance.home.frames('a', [
      instance.under(1, instance.frame(numberOf(1, 12), handle)),
      ...repeated,
      instance.following(handle, numberOf(3, 0)),
    ]);
    await question.answer('member');
    expect(instance.heard(entered)).toEqual(['1:11', '1:12']);
  });

  it('is sent to a session once although an earlier epoch of its owner has sent it too', async () => {
    const instance = followedGuild();
    await instance.own('a', 1);
    const entered = instance.enter('one');
    void instance.followed.subscribe(entered, GUILD, null);
    const first = await instance.asked();
    await instance.own('b', 2);
    await first.answer(new NotServed('lost'));
    instance.clock.advance(200);
    const between = await instance.asked();
    await instance.own('a', 3);
    await between.answer(new NotServed('lost'));
    instance.clock.advance(200);
    const question = await instance.asked();
    expect(question.wanted.map(({ after }) => after)).toEqual([null]);
    const handle = handleOf(question);
    const created = (n: number) =>
      ({
        ...instance.frame(n, handle),
        ...{ t: 'GUILD_CREATE', json: Buffer.from(`{"id":"${GUILD}"}`) },
      }) as SessionFrame;
    instance.home.frames('a', [
      ...[
        instance.under(1, created(numberOf(1, 12))),
        instance.under(1, instance.frame(numberOf(1, 13), handle)),
      ],
      ...[instance.under(3, created(numberOf(3, 1))), instance.following(handle, numberOf(3, 1))],
    ]);
    await question.answer('member');
    expect(instance.heard(entered)).toEqual(['3:1']);
  });

  it('sends a session no GUILD_DELETE from before the position that the session has', async () => {
    const instance = followedGuild();
    const { entered } = await live(instance);
    await instance.own('a', 2);
    const handle = handleOf(await instance.asked());
    const deleted = { t: 'GUILD_DELETE', json: Buffer.from(`{"id":"${GUILD}"}`) };
    instance.home.frames('a', [{ ...instance.frame(numberOf(1, 10), handle), ...deleted } as SessionFrame]);
    expect(instance.heard(entered)).toEqual([]);
  });

  it('has the position that its actor here reports for an answered request', async () => {
    const instance = followedGuild();
    await instance.own('self');
    void instance.followed.subscribe(instance.enter('one'), GUILD, null);
    const question = await instance.asked();
    question.wanted[0]?.caughtUp?.(numberOf(1, 50));
    expect(instance.followed.stream(GUILD)?.n).toBe(numberOf(1, 50));
  });

  it('sends GUILD_DELETE as unavailable to people, and to bots only with the intent of guilds', async () => {
    for (const [identity, received] of [
      [{ bot: false, intents: 0 }, 1],
      [{ bot: true, intents: INTENTS.GUILD_MESSAGES }, 0],
      [{ bot: true, intents: INTENTS.GUILDS }, 1],
    ] as const) {
      const instance = followedGuild();
      const { entered } = await live(instance);
      Object.assign(entered.session, identity);
      await instance.own('b', 2);
      await (await instance.asked()).answer('tooOld');
      expect(instance.heard(entered)).toHaveLength(received);
    }
  });

  it('sends nothing before GUILD_CREATE, but to bots without the intent of guilds, which are not sent it', async () => {
    for (const [identity, received] of [
      [{ bot: false, intents: 0 }, 0],
      [{ bot: true, intents: INTENTS.GUILD_MESSAGES }, 1],
      [{ bot: true, intents: INTENTS.GUILDS }, 0],
    ] as const) {
      const instance = followedGuild();
      await instance.own('a');
      const entered = instance.enter('one');
      Object.assign(entered.session, identity);
      void instance.followed.subscribe(entered, GUILD, null);
      const handle = handleOf(await instance.asked());
      instance.home.frames('a', [instance.frame(numberOf(1, 5), handle)]);
      expect(instance.heard(entered)).toHaveLength(received);
    }
  });

  it('is neither kept nor requested after the shard has ended', async () => {
    const instance = followedGuild();
    await instance.own(null);
    instance.followed.subscribe(instance.enter('one'), GUILD, null).catch(() => undefined);
    await turn();
    const { clock, hearers } = instance;
    expect([clock.timers, hearers.size]).toEqual([1, 2]);
    await instance.scope.close();
    instance.home.close();
    expect([instance.followed.stream(GUILD), hearers.size]).toEqual([undefined, 0]);
    clock.advance(50);
    expect(clock.timers).toBe(0);
    clock.advance(1_000);
    await instance.own('a');
    await expect(instance.asked()).rejects.toThrow('0 questions');
  });
});
