// Goal: what guilds and users lose when they fall over is taken up again, and what cannot be is reported once, if at all.
import { expect, test } from 'vitest';
import { createMembership, type MembershipPorts } from '../../../../actors/cluster/delivery/membership.ts';
import { standaloneCluster } from '../../../../actors/cluster/shard.ts';
import type { LiveSession } from '../../../../actors/session/backend.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import type { UserId } from '../../../../protocol/ids.ts';

const USER = '1' as UserId;

/** A membership whose users open sessions as `open` says, with what it reports and the sessions it opens. */
function arrange(open: () => Promise<null>) {
  const faults: unknown[] = [];
  const opened: object[] = [];
  const users = {
    open(session: object) {
      opened.push(session);
      return open();
    },
  };
  const ports = { users, onFault: (fault: unknown) => faults.push(fault) } as unknown as MembershipPorts;
  const alone = standaloneCluster();
  return { ...{ faults, opened }, membership: createMembership(alone, {} as MembershipPorts, () => ports) };
}

const session = (over: boolean) => ({ over }) as LiveSession;

test('a user that fell over takes the sessions that go on, and no others', async () => {
  const { membership, opened, faults } = arrange(async () => null);
  const [live, ended] = [session(false), session(true)];
  membership.userLost(USER, [live, ended]);
  await Promise.resolve();
  expect([opened, faults]).toEqual([[live], []]);
});

test('a user that falls over while the server closes is no failure; another reason is', async () => {
  for (const [fault, reported] of [
    [new NotServed('This shard does not own the aggregate.'), 0],
    [new Error('The database is gone.'), 1],
  ] as const) {
    const { membership, faults } = arrange(() => Promise.reject(fault));
    membership.userLost(USER, [session(false)]);
    await new Promise(setImmediate);
    expect(faults).toHaveLength(reported);
  }
});
