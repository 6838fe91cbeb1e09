// Goal: the fuzzer itself runs, is repeatable by its seed, and reaches the answers it is there to provoke.
import { expect, it } from 'vitest';
import { fuzzGateway } from './gateway.ts';

it('takes a few thousand frames and ends the same way for the same seed', async () => {
  const { outcomes } = await fuzzGateway(5000, 7);
  const again = await fuzzGateway(5000, 7);
  expect([...outcomes].sort()).toEqual([...again.outcomes].sort());
  for (const code of ['4001', '4002', '4003', '4004', '4005']) expect(outcomes.get(code)).toBeGreaterThan(0);
}, 30_000);
