// Goal: a shard that keeps the replica of a lost shard's journal continues the sessions in it without the help of other shards.
import { expect, it } from 'vitest';
import type { ShardInfo } from '../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { ClusterArchive } from '../../../actors/session/archive.ts';
import type { TakeResult } from '../../../actors/session/journal.ports.ts';
import { plainOf } from '../../../actors/session/record.ts';
import { sessionIdAt } from '../../../engine/session/sessionid.ts';
import { BOT } from './harness.ts';

const shardOf = (id: string, worker: number) => ({ id, instance: `${id}-run`, worker }) as ShardInfo;

it('a session of a lost shard is taken from the replica here after the journals here and all other shards', async () => {
  const clock = new VirtualClock();
  const [self, other] = [shardOf('here', 1), shardOf('other', 2)];
  const asked: string[] = [];
  const principal = plainOf(BOT);
  const sessionId = sessionIdAt(3, '0'.repeat(32));
  const identity = { sessionId, principal, intents: 0, shard: [0, 1], largeThreshold: 50 } as const;
  const manner = { presence: null, wantsAuthorizeRequests: false };
  const record = { identity, manner, seq: 4, missed: [], cursors: [] };
  const archive = new ClusterArchive({
    ownership: {
      self,
      knowsMembers: true,
      view: { revision: 1, shards: [self, other], owners: [] },
      onChange: () => () => undefined,
    },
    router: {
      askShard: async (id, method) => {
        asked.push(`${id} ${method}`);
        return { kind: 'unknown' } as never;
      },
      serve: () => undefined,
    },
    journals: {
      take: async (_claim, _key, copy): Promise<TakeResult> => {
        asked.push(copy ? 'replicas here' : 'journals here');
        return copy ? { kind: 'taken', record } : { kind: 'unknown' };
      },
    },
    transferOut: () => ({ kind: 'unknown' }),
    ...{ clock, wheel: new TimerWheel(clock), deadlineMs: 10_000 },
    onFault: (error) => {
      throw error;
    },
  });
  expect(await archive.take({ sessionId, principal, seq: 4 })).toEqual({ kind: 'taken', record });
  expect(asked).toEqual(['journals here', 'other sessions.take', 'replicas here']);
});
