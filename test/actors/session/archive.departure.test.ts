// Goal: a session is found in the journal of its shard also when that shard leaves the cluster during the search.
import { describe, expect, it } from 'vitest';
import type { OwnershipChange, ShardInfo } from '../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { ClusterArchive } from '../../../actors/session/archive.ts';
import type { TakeResult } from '../../../actors/session/journal.ports.ts';
import { plainOf } from '../../../actors/session/record.ts';
import { sessionIdAt } from '../../../engine/session/sessionid.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import { BOT, settled } from './harness.ts';

const shardOf = (id: string, worker: number) => ({ id, instance: `${id}-run`, worker }) as ShardInfo;
const [SELF, OTHER, LOST] = [shardOf('here', 1), shardOf('other', 2), shardOf('lost', 3)];
const PRINCIPAL = plainOf(BOT);
const CLAIM = { sessionId: sessionIdAt(4, '0'.repeat(32)), principal: PRINCIPAL, seq: 4 };
const identity = { ...CLAIM, intents: 0, shard: [0, 1], largeThreshold: 50 } as const;
const manner = { presence: null, wantsAuthorizeRequests: false };
const TAKEN: TakeResult = { kind: 'taken', record: { identity, manner, seq: 4, missed: [], cursors: [] } };
const UNKNOWN: TakeResult = { kind: 'unknown' };

/**
 * A shard whose view loses another shard during the first look into the journals here.
 *
 * @param journalsHere The answer of the journals here once that shard has left.
 * @param othersFrom Milliseconds until the remaining shard knows that it has left, and finds the session in its journals; null for never.
 */
function arrange(journalsHere: TakeResult, othersFrom: number | null) {
  const clock = new VirtualClock();
  const view = { revision: 1, shards: [SELF, OTHER, LOST], owners: [] };
  const listeners = new Set<(change: OwnershipChange) => void>();
  let leftMs: number | null = null;
  const leave = () => {
    leftMs = clock.monotonic();
    view.shards = [SELF, OTHER];
    for (const run of listeners) run({ moved: [], gone: [LOST], came: [] });
  };
  const archive = new ClusterArchive({
    ownership: {
      self: SELF,
      knowsMembers: true,
      view,
      onChange(run) {
        listeners.add(run);
        return () => void listeners.delete(run);
      },
    },
    router: {
      askShard: async (id, method) => {
        if (method === 'sessions.takeCopy') return UNKNOWN as never;
        if (id === LOST.id) throw new LinkFault('unreachable', 'It has ended.');
        const isKnown = othersFrom !== null && leftMs !== null && clock.monotonic() >= leftMs + othersFrom;
        return (isKnown ? TAKEN : UNKNOWN) as never;
      },
      serve: () => undefined,
    },
    journals: {
      take: async (_claim, _key, copy) => {
        if (leftMs !== null) return copy ? UNKNOWN : journalsHere;
        leave();
        return UNKNOWN;
      },
    },
    transferOut: () => UNKNOWN,
    ...{ clock, wheel: new TimerWheel(clock), deadlineMs: 10_000 },
    onFault: (error) => {
      throw error;
    },
  });
  /** The answer, and after how many milliseconds it came. */
  const taken = async () => {
    let answer: TakeResult | null = null;
    void archive.take(CLAIM).then((found) => {
      answer = found;
    });
    for (let ms = 0; ms <= 5_000; ms += 50) {
      await settled();
      if (answer) return [answer, ms];
      clock.advance(50);
    }
    return null;
  };
  return { archive, listeners, taken };
}

describe('a session whose shard leaves the cluster during the search for it', () => {
  it('is found in the journals of this shard, which were first read before the other shard had left', async () => {
    expect(await arrange(TAKEN, null).taken()).toEqual([TAKEN, 500]);
  });

  it('is found in the journals of another shard, which learns later that the shard has left', async () => {
    expect(await arrange(UNKNOWN, 300).taken()).toEqual([TAKEN, 500]);
  });

  it('is unknown a second later at the latest', async () => {
    const { archive, listeners, taken } = arrange(UNKNOWN, null);
    expect(await taken()).toEqual([UNKNOWN, 1_000]);
    archive.close();
    expect(listeners.size).toBe(0);
  });
});
