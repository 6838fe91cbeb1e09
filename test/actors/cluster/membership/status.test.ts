// Goal: the status of a process alone is complete, also when its sessions are kept in no journal.
import { describe, expect, it } from 'vitest';
import { standaloneControl } from '../../../../actors/cluster/membership/status.ts';
import { standaloneCluster } from '../../../../actors/cluster/shard.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';

describe('a process alone', () => {
  it('reports one shard that owns everything, and zero bytes for a journal that it does not keep', async () => {
    const clock = new VirtualClock();
    const participants = new Map([['guild', { size: 2 }]]);
    const { status } = standaloneControl({
      cluster: {
        ...standaloneCluster(),
        id: null,
        partitions: 4,
        participants,
        lagMs: () => 0,
        linkBytes: () => 0,
      },
      ...{ clock, sessions: { size: 3, journal: null } },
    });
    clock.advance(5_000);
    const { shards, ...rest } = await status();
    expect(rest).toEqual({ cluster_id: null, partitions: 4, partitions_unserved: 0 });
    expect(shards).toMatchObject([
      {
        state: 'serving',
        sessions: 3,
        journal_bytes: 0,
        residents: { guild: 2 },
        partitions: 4,
        uptime_ms: 5_000,
      },
    ]);
  });
});
