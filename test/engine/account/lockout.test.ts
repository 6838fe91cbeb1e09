// Goal: guessing becomes slow without end, and waiting always helps.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Failures,
  failed,
  networkOf,
  OF_ADDRESS,
  OF_EVERYWHERE,
  OF_FACTOR,
  OF_LOGIN,
  waitMs,
} from '../../../engine/account/lockout.ts';
import { AttemptLimiter } from '../../../services/accounts/attemptlimiter.ts';

test.each([
  ['login', OF_LOGIN, 120],
  ['everywhere', OF_EVERYWHERE, 135],
  ['factor', OF_FACTOR, 40],
  ['address', OF_ADDRESS, 70],
])('guessing by %s as fast as allowed gives few guesses a day', (_, limit, dailyMax) => {
  let failures: Failures | undefined;
  let nowMs = 0;
  let guesses = 0;
  for (; nowMs < 86_400_000; guesses += 1) {
    failures = failed(failures, limit, nowMs);
    nowMs += waitMs(failures, limit, nowMs);
  }
  expect(guesses).toBeLessThan(dailyMax);
});

test('the wait is within its bound, and over once it was waited', () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.nat(), (count, lastMs) => {
      const failures = { count, lastMs };
      const wait = waitMs(failures, OF_LOGIN, lastMs);
      expect(wait).toBeLessThanOrEqual(OF_LOGIN.waitMaxMs);
      expect(waitMs(failures, OF_LOGIN, lastMs + wait)).toBe(0);
      expect(waitMs(failures, OF_LOGIN, lastMs + OF_LOGIN.memoryMs)).toBe(0);
    }),
  );
});

test('failures are forgotten after their time, and the book of them is bounded', () => {
  const book = new AttemptLimiter(OF_ADDRESS);
  for (let n = 0; n < 110_000; n++) book.count(`key ${n}`, n);
  expect(book.size).toBe(100_000);
  book.count('late', OF_ADDRESS.memoryMs + 200_000);
  expect(book.size).toBe(1);
  book.takeBack('late');
  book.takeBack('never');
  expect(book.size).toBe(0);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002:0000::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['0000:0000:0000:0000:0000:ffff:c000:0201', '192.0.2.1'],
])('%s is in the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
