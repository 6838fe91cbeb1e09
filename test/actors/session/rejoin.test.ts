// Goal: a shard that was presumed dead abandons the sessions that others hold, and reports whom it could not ask.
import { describe, expect, it } from 'vitest';
import type { OwnershipChange, ShardInfo, ShardState } from '../../../actors/placement/ports.ts';
import { watchRejoins } from '../../../actors/session/rejoin.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import { settled } from './harness.ts';

const shardOf = (id: string) => ({ id, instance: `${id}-run` }) as ShardInfo;

/** The shard `a` with two sessions, of which `b` holds one. `c` does not answer. */
function arrange() {
  let change: (change: OwnershipChange) => void = () => undefined;
  let state: ShardState = 'joining';
  const asked: unknown[] = [];
  const abandoned: string[] = [];
  const faults: unknown[] = [];
  watchRejoins({
    ownership: {
      self: shardOf('a'),
      get state() {
        return state;
      },
      view: { revision: 1, shards: ['a', 'b', 'c'].map(shardOf), owners: [] },
      onChange: (run) => {
        change = run;
        return () => undefined;
      },
    },
    router: {
      async askShard(to, method, args) {
        if (to === 'c') throw new LinkFault('unreachable', 'c is away');
        asked.push([to, method, args]);
        return (method === 'sessions.held' ? ['s1'] : null) as never;
      },
      serve: () => undefined,
    },
    sessions: () => ({
      live: new Map([
        ['s1', { seq: 5 }],
        ['s2', { seq: 7 }],
      ]),
      abandon: (sessionId) => void abandoned.push(sessionId),
      reassert: async () => undefined,
    }),
    taken: async () => [],
    onFault: (fault) => faults.push(fault),
  });
  const become = async (next: ShardState) => {
    state = next;
    change({ moved: [], gone: [], came: [] });
    await settled();
  };
  return { become, asked, abandoned, faults };
}

describe('a shard that rejoins', () => {
  it('abandons what another shard holds, which asserts it again, and reports the shard that does not answer', async () => {
    const { become, asked, abandoned, faults } = arrange();
    for (const state of ['serving', 'joining', 'serving'] as const) await become(state);
    expect(abandoned).toEqual(['s1']);
    expect(asked).toEqual([
      [
        'b',
        'sessions.held',
        [
          ['s1', 's2'],
          [5, 7],
        ],
      ],
      ['b', 'sessions.reassert', [['s1']]],
    ]);
    expect(faults).toEqual([new LinkFault('unreachable', 'c is away')]);
  });

  it('asks nobody when it serves for the first time', async () => {
    const { become, asked, faults } = arrange();
    for (const state of ['joining', 'serving'] as const) await become(state);
    expect([asked, faults]).toEqual([[], []]);
  });
});
