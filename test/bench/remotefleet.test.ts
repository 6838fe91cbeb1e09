// Goal: a bench whose thread or process of connections ends says so, instead of waiting for good.
import { expect, test } from 'vitest';
import { remoteFleet } from '../../bench/gateway/remotefleet.ts';
import type { FleetNews, FleetOrder } from '../../bench/gateway/worker.ts';

function hosted() {
  const orders: FleetOrder['kind'][] = [];
  let say: (news: FleetNews) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const fleet = remoteFleet({ progress: () => undefined, scouted: () => undefined }, ({ news, failed }) => {
    [say, fail] = [news, failed];
    return { send: ({ kind }) => void orders.push(kind), end: () => undefined };
  });
  return { fleet, orders, say: (news: FleetNews) => say(news), fail: (error: Error) => fail(error) };
}

test('requests of a remote fleet resolve with the answers of its host', async () => {
  const { fleet, orders, say } = hosted();
  const connected = fleet.connect();
  say({ kind: 'connected' });
  await connected;
  const deliveries = fleet.deliveries();
  say({ kind: 'counted', deliveries: 7 });
  expect([await deliveries, orders]).toEqual([7, ['count']]);
});

test('the end of the host rejects the requests in progress and all later ones', async () => {
  const { fleet, say, fail } = hosted();
  const connected = fleet.connect();
  say({ kind: 'connected' });
  await connected;
  const inProgress = Promise.allSettled([fleet.deliveries(), fleet.finish()]);
  fail(new Error('A process of connections ended.'));
  const later = await Promise.allSettled([fleet.deliveries(), fleet.lap()]);
  for (const outcome of [...(await inProgress), ...later])
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { message: 'A process of connections ended.' },
    });
});

test('a host that cannot connect rejects with its reason', async () => {
  const { fleet, say } = hosted();
  const connected = fleet.connect();
  say({ kind: 'failed', reason: 'refused' });
  await expect(connected).rejects.toThrow('refused');
});
