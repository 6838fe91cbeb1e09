// Goal: a session starts under an id of its own and in the bucket of its shard, and frees its memory when nothing comes.
import { describe, expect, it } from 'vitest';
import { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import { arrange, FakeSink, identifyWith, settled } from './harness.ts';

describe('the id of a session', () => {
  it.each([
    ['is 32 random digits in a process alone', null, /^[0-9a-f]{32}$/],
    ['begins with the number of its shard in a cluster', 0x1a, /^01a[0-9a-f]{29}$/],
  ])('%s', async (_what, worker, digits) => {
    const { sessions } = arrange({}, { worker: () => worker });
    const outcome = await sessions.identify(identifyWith(), new FakeSink());
    expect(outcome.kind === 'open' && outcome.session.id).toMatch(digits);
  });
});

describe('the sessions of a bot with several shards', () => {
  it('start at once when their shards are of different buckets', async () => {
    const { sessions } = arrange({ limited: true, maxConcurrency: 2 });
    const kinds: string[] = [];
    for (const shard of [0, 1, 0]) {
      const outcome = await sessions.identify(identifyWith({ shard: [shard, 2] }), new FakeSink());
      kinds.push(outcome.kind);
    }
    expect(kinds).toEqual(['open', 'open', 'invalid']);
  });
});

describe('a session that receives nothing', () => {
  it('keeps no dispatch that is too old to be replayed', async () => {
    const { sessions, clock } = arrange();
    const outcome = await sessions.identify(identifyWith(), new FakeSink());
    await settled();
    if (outcome.kind !== 'open' || !(outcome.session instanceof GatewaySessionActor))
      throw new Error('not open');
    const { kept } = outcome.session.feed;
    expect(kept.size).toBe(4);
    clock.advance(300_000);
    expect(kept.size).toBe(0);
  });
});
