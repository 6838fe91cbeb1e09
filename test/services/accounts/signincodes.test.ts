// Goal: a one-time code opens a sign-in once, for a short time, and nothing else does.
import { describe, expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import { createSignInCodes } from '../../../services/accounts/signincodes.ts';

const ENTRY = { userId: '123456789012345678' as UserId, demo: null };

function arrange() {
  const clock = { ms: 0 };
  let made = 0;
  const randomBytes = (size: number) => new Uint8Array(size).fill(++made % 256, 0, 1).fill(made >> 8, 1, 2);
  return { clock, codes: createSignInCodes({ randomBytes, monotonic: () => clock.ms }) };
}

describe('a one-time code', () => {
  test('is accepted once', () => {
    const { codes } = arrange();
    const code = codes.offer(ENTRY);
    expect(codes.redeem(code)).toBe(ENTRY);
    expect(codes.redeem(code)).toBeNull();
  });

  test('expires after its time', () => {
    const { codes, clock } = arrange();
    const code = codes.offer(ENTRY);
    clock.ms = 15 * 60_000;
    expect(codes.redeem(code)).toBeNull();
  });

  test('is refused if it was never issued', () => {
    const { codes } = arrange();
    for (const wrong of ['', 'a'.repeat(32), 'ä'.repeat(32), 'a'.repeat(10_000)])
      expect(codes.redeem(wrong)).toBeNull();
  });

  test('evicts the oldest code beyond the maximum number', () => {
    const { codes } = arrange();
    const first = codes.offer(ENTRY);
    const second = codes.offer(ENTRY);
    for (let more = 0; more < 63; more++) codes.offer(ENTRY);
    expect(codes.redeem(first)).toBeNull();
    expect(codes.redeem(second)).toBe(ENTRY);
  });
});
