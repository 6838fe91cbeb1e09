// Goal: the fuzzers of voice run, and reach both the answers they are there to provoke and what lies behind them.
import { describe, expect, it } from 'vitest';
import { fuzzDelivery, fuzzMls } from './dave.ts';
import { fuzzStun } from './media.ts';
import { fuzzPeer, fuzzRtcp, fuzzRtp, fuzzSdp } from './parsers.ts';
import { fuzzFraming, fuzzVoice } from './voice.ts';
import type { Target } from './watch.ts';

const TARGETS: [string, Target, number, string[]][] = [
  [
    'voice',
    fuzzVoice,
    20_000,
    ['4001', '4002', '4003', '4005', '4020', '4021', 'dave', 'sinkWants', 'video'],
  ],
  ['framing', fuzzFraming, 2000, ['26', '28', '4001', '4002']],
  ['stun', fuzzStun, 2000, ['malformed', 'unknown']],
  ['rtp', fuzzRtp, 5000, ['read', 'refused', 'VP8 begins', 'H264 begins', 'AV1 begins']],
  ['rtcp', fuzzRtcp, 2000, ['200', '201', '205', '206']],
  ['sdp', fuzzSdp, 2000, ['read', 'refused']],
  ['peer', fuzzPeer, 2000, ['in', 'not in', 'out', 'not out']],
  ['mls', fuzzMls, 2000, ['a package', 'a commit', 'no commit', 'a forged leaf']],
  ['delivery', fuzzDelivery, 400, ['4020']],
];

describe('the fuzzer', () => {
  it.each(TARGETS)(
    'reaches every expected outcome of %s',
    async (_, target, inputs, expected) => {
      const { outcomes } = await target(inputs, 7);
      for (const outcome of expected) expect(outcomes.get(outcome), outcome).toBeGreaterThan(0);
    },
    30_000,
  );
});
