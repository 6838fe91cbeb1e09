// Goal: waiting subscriptions are requested in bounded batches, and requests that fail are repeated with growing delays.
import { describe, expect, it } from 'vitest';
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
});
