// Goal: the fuzzer of media itself runs, and reaches every way a packet can come to nothing.
import { expect, it } from 'vitest';
import { fuzzMedia } from './media.ts';

it('takes some thousand packets and provokes every kind of drop but one', () => {
  const { outcomes } = fuzzMedia(12_000, 7);
  for (const reason of ['unknown', 'unauthenticated', 'replayed', 'malformed', 'not_allowed', 'rate_limited'])
    expect(outcomes.get(reason), reason).toBeGreaterThan(0);
});
