// Goal: users are sent what the previous owner of their notifications committed and did not send.
import { expect, it } from 'vitest';
import { createDirectDelivery } from '../../../../actors/cluster/delivery/direct.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

const USER = '1';
/** The channel of another shard that notifies the user. */
const CHANNEL = '8';

/** The owner of a user with one session, and the users whose notifications it looks up. */
function arrange() {
  const clock = new VirtualClock();
  const { ownership, give, move } = scriptedOwners();
  give('self#1', [USER]);
  give('other#1', [CHANNEL]);
  const lookedUp: unknown[] = [];
  const sessions = () => [{ sessionId: 'one', userId: USER }];
  const { userDelivery } = createDirectDelivery({
    ...{ cluster: { ownership }, users: { sessions, listeners: sessions }, clock },
    ...{ wheel: new TimerWheel(clock), recordAgeMs: 60_000 },
    storage: {
      cluster: {
        deliveriesTo: async (userIds: readonly string[]) => {
          lookedUp.push(...userIds);
          return [];
        },
        recordsAt: async () => [],
      },
    },
    onFault: (fault: unknown) => expect.fail(String(fault)),
  } as unknown as Parameters<typeof createDirectDelivery>[0]);
  userDelivery.sessionOpened(USER);
  const pass = async () => {
    clock.advance(1_000);
    await new Promise<void>((resolve) => setImmediate(resolve));
    return lookedUp.splice(0);
  };
  return { move, pass };
}

it('looks up the notifications of its users when another shard takes over what notifies them', async () => {
  const { move, pass } = arrange();
  expect(await pass()).toEqual([]);
  move('third#1', [CHANNEL]);
  expect(await pass()).toEqual([USER]);
});

it('looks up nothing while what notifies them has no owner', async () => {
  const { move, pass } = arrange();
  move(null, [CHANNEL]);
  expect(await pass()).toEqual([]);
  move('third#1', [CHANNEL]);
  expect(await pass()).toEqual([USER]);
});
