// Goal: tokens and grants of reopened sessions are checked together, each once, and again after a fault.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { Principal } from '../../../actors/session/ports.ts';
import type { Authorization } from '../../../engine/oauth/authorization.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { CredentialCheck } from '../../../services/sessions/credentials.ts';

const [ANN, BOB] = ['1' as UserId, '2' as UserId];
const GRANT: Authorization = {
  id: '9',
  applicationId: '7' as ApplicationId,
  scopes: new Set(),
  expiresMs: 0,
};

const session = (userId: UserId, own: Partial<Principal>, over = false) => ({
  over,
  principal: {
    ...{ userId, bot: false, applicationId: null, applicationFlags: 0, authorization: null },
    ...own,
  },
});

function arrange() {
  const clock = new VirtualClock();
  const checked: unknown[] = [];
  const faults: unknown[] = [];
  const steer = { broken: null as Error | null };
  const check = new CredentialCheck({
    identity: {
      async endRevoked(held) {
        if (steer.broken) throw steer.broken;
        checked.push(held);
      },
    },
    features: () => ({ oauth: { endRevoked: async (held) => void checked.push(held) } }),
    wheel: new TimerWheel(clock),
    scope: { over: false },
    onFault: (error) => faults.push(error),
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { check, checked, faults, steer, pass };
}

test('many sessions of a token are one check, and ended ones none', async () => {
  const { check, checked, pass } = arrange();
  for (let no = 0; no < 3; no += 1) check.reopened(session(ANN, { tokenId: 'a' }));
  check.reopened(session(BOB, { authorization: GRANT }));
  check.reopened(session(BOB, { tokenId: 'ended' }, true));
  await pass(1_000);
  expect(checked).toEqual([[{ userId: ANN, tokenId: 'a' }], [{ userId: BOB, authorization: GRANT }]]);
  await pass(60_000);
  expect(checked).toHaveLength(2);
});

test('a check that failed is repeated', async () => {
  const { check, checked, faults, steer, pass } = arrange();
  steer.broken = new Error('The database is away.');
  check.reopened(session(ANN, { tokenId: 'a' }));
  await pass(1_000);
  expect([faults, checked]).toEqual([[steer.broken], []]);
  steer.broken = null;
  await pass(5_000);
  expect(checked).toEqual([[{ userId: ANN, tokenId: 'a' }]]);
});
