// Goal: a person's presence costs at most one row a day, and a mark that failed is tried again.
import { expect, test, vi } from 'vitest';
import { NotServed } from '../../../protocol/faults.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { lastSeen } from '../../../services/sessions/lastseen.ts';
import type { Commit } from '../../../storage/ports.ts';

const DAY_MS = 86_400_000;

test('a user is marked once a day, and again after a fault or a change of owner', async () => {
  let nowMs = 3 * DAY_MS;
  let fault: Error | null = null;
  const written: unknown[] = [];
  const onFault = vi.fn();
  const commitAsOwner = async (ownerId: string, facts: Commit['facts']) => {
    written.push([ownerId, ...facts]);
    if (fault) throw fault;
  };
  const seen = lastSeen({ commitAsOwner, clock: { now: () => nowMs }, onFault });
  const me = '1' as UserId;
  seen(me);
  seen(me);
  nowMs += DAY_MS - 1;
  seen(me);
  expect(written).toEqual([['1', { type: 'userSeen', day: 3 }]]);
  nowMs += 1;
  fault = new Error('The database is away.');
  seen(me);
  await Promise.resolve();
  expect(onFault).toHaveBeenCalledExactlyOnceWith(fault, '1');
  fault = new NotServed('Another shard owns the user.');
  seen(me);
  await Promise.resolve();
  expect(onFault).toHaveBeenCalledOnce();
  fault = null;
  seen(me);
  seen(me);
  expect(written).toHaveLength(4);
});
