// Goal: a revoked authorization ends what acts by it, and a fault of that does not fail the revocation.
import { expect, test } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { createRevocation } from '../../../services/oauth/revocation.ts';

const [USER, GAME] = ['1' as UserId, '2' as ApplicationId];

test('a revocation closes the sessions and takes the activities back, and reports faults of the rest', async () => {
  const log: unknown[] = [];
  const broken = new Error('broken');
  const revocation = createRevocation({
    routing: HERE,
    closeSessions: (...of) => log.push(['sessions', ...of]),
    activities: () => ({ takeBack: (...of) => log.push(['activities', ...of]) }),
    provisional: () => ({ deauthorized: async () => Promise.reject(broken) }),
    onFault: (error) => log.push(error),
  });
  revocation.revoked(USER, GAME);
  await revocation.deauthorized(USER, GAME);
  expect(log).toEqual([['sessions', USER, GAME, undefined], ['activities', USER, GAME], broken]);
  revocation.closeSessionsOfGrant(USER, GAME, 'grant');
  expect(log.at(-1)).toEqual(['sessions', USER, GAME, 'grant']);
});
