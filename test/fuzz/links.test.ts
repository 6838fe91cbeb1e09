// Goal: the fuzzer of links runs, is repeatable by its seed, and reaches every answer.
import { expect, it } from 'vitest';
import { fuzzLinks } from './links.ts';

it('takes packets that are whole, broken and none, and ends the same way for the same seed', async () => {
  const { outcomes } = await fuzzLinks(10_000, 3);
  const again = await fuzzLinks(10_000, 3);
  expect([...outcomes].sort()).toEqual([...again.outcomes].sort());
  for (const outcome of ['read', 'refused', 'fault']) expect(outcomes.get(outcome)).toBeGreaterThan(0);
}, 30_000);
