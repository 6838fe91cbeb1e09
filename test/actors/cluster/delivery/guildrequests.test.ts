// Goal: waiting subscriptions are requested in bounded batches, and requests that fail are repeated with growing delays.
import { describe, expect, it, vi } from 'vitest';
import { LinkFault, NotServed } from '../../../../protocol/faults.ts';
import { followedGuild, GUILD, numberOf } from '../../../support/followedguild.ts';

type Instance = ReturnType<typeof followedGuild>;

const AWAY = new NotServed('away');
const isQuiet = (instance: Instance) => expect(instance.asked()).rejects.toThrow('0 questions');

/** A session that subscribes to the guild of shard `a`. */
async function subscribing() {
  const instance = followedGuild();
  await instance.own('a');
  const entered = instance.enter('one');
  const outcome = instance.followed.subscribe(entered, GUILD, numberOf(1, 10));
  return { instance, entered, outcome };
}

/** The next request comes after this delay, and not before. */
async function askedAfter(instance: Instance, delayMs: number) {
  instance.clock.advance(delayMs - 50);
  await isQuiet(instance);
  instance.clock.advance(50);
  return instance.asked();
}

describe('the request of waiting subscriptions', () => {
  it('names at most 256 of them, and the next request names the others', async () => {
    const { instance } = await subscribing();
    const first = await instance.asked();
    const others = Array.from({ length: 300 }, (_, index) => instance.enter(`more${index}`));
    for (const other of others) void instance.followed.subscribe(other, GUILD, null);
    await isQuiet(instance);
    await first.answer('member');
    const second = await instance.asked();
    await second.answer('member');
    const third = await instance.asked();
    await third.answer('member');
    await isQuiet(instance);
    expect([first, second, third].map(({ wanted }) => wanted.length)).toEqual([1, 256, 44]);
  });

  it('leaves out a session that has ended, whose subscription has then ended too', async () => {
    const { instance } = await subscribing();
    const first = await instance.asked();
    const [ended, other] = [instance.enter('ended'), instance.enter('other')];
    const outcome = instance.followed.subscribe(ended, GUILD, null);
    void instance.followed.subscribe(other, GUILD, null);
    Object.assign(ended.session, { over: true });
    await first.answer('member');
    const second = await instance.asked();
    expect(second.wanted.map(({ session }) => session.session.sessionId)).toEqual(['other']);
    expect(await outcome).toBe('gone');
  });

  it('is repeated after a delay that doubles up to 2.5 seconds', async () => {
    const { instance } = await subscribing();
    let question = await instance.asked();
    for (const delayMs of [100, 200, 400, 800, 1600, 2500, 2500]) {
      await question.answer(AWAY);
      question = await askedAfter(instance, delayMs);
    }
  });

  it('is repeated after the first delay again when a request has succeeded in between', async () => {
    const { instance } = await subscribing();
    await (await instance.asked()).answer(AWAY);
    await (await askedAfter(instance, 100)).answer(AWAY);
    await (await askedAfter(instance, 200)).answer('member');
    void instance.followed.subscribe(instance.enter('two'), GUILD, null);
    await (await instance.asked()).answer(AWAY);
    await askedAfter(instance, 100);
  });

  it('is repeated after the first delay when the guild has another owner', async () => {
    const { instance } = await subscribing();
    await (await instance.asked()).answer(AWAY);
    await (await askedAfter(instance, 100)).answer(AWAY);
    await (await askedAfter(instance, 200)).answer(AWAY);
    await instance.own('b', 2);
    await (await instance.asked()).answer(AWAY);
    expect((await askedAfter(instance, 100)).to).toBe('b');
  });
});

describe('a guild whose owner does not answer', () => {
  it.each([
    ['stays available at first when the link broke', new LinkFault('lost', 'The link broke.'), []],
    ['stays available at first when no shard serves it', AWAY, []],
    ['stays available at first when it failed itself', new Error('a bug'), []],
  ])('%s', async (_how, fault, received) => {
    const { instance, entered, outcome } = await subscribing();
    await (await instance.asked()).answer('member');
    expect(await outcome).toBe('member');
    await instance.own('b', 2);
    await (await instance.asked()).answer(fault);
    expect(instance.heard(entered)).toEqual(received);
    expect((await askedAfter(instance, 100)).to).toBe('b');
  });

  /** A caller whose session does not have the guild, and the first request for it. */
  async function joining() {
    const instance = followedGuild();
    await instance.own('a');
    const failed = vi.fn();
    instance.followed.subscribe(instance.enter('one'), GUILD, null).catch(failed);
    return { instance, failed, question: await instance.asked() };
  }

  it.each([
    ['its link broke', new LinkFault('lost', 'The link broke.')],
    ['no shard serves it', AWAY],
  ])('keeps a caller without the guild waiting for ten seconds when %s', async (_how, fault) => {
    const { instance, failed, question } = await joining();
    await question.answer(fault);
    for (const delayMs of [100, 200, 400, 800, 1600, 2500, 2500, 2500]) {
      expect(failed).not.toHaveBeenCalled();
      await (await askedAfter(instance, delayMs)).answer(fault);
    }
    expect(instance.clock.monotonic()).toBe(10_600);
    expect(failed.mock.calls).toEqual([[fault]]);
  });

  it('fails a caller without the guild at once when the guild itself failed', async () => {
    const { failed, question } = await joining();
    const fault = new Error('a bug');
    await question.answer(fault);
    expect(failed.mock.calls).toEqual([[fault]]);
  });
});
