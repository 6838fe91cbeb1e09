import type { Driver } from './driver.ts';
import type { ClusterStore } from './ports.cluster.ts';

export const clusterStore = (driver: Driver): ClusterStore => ({
  async takeOver(partitions, shardId) {
    const taken = await driver.transaction(async (sql) => {
      await sql.query(
        'SELECT pg_advisory_xact_lock(7166012, p) FROM (SELECT unnest($1::integer[]) AS p ORDER BY 1) AS wanted',
        [partitions],
      );
      return sql.query<{ partition: number; epoch: string }>(
        'INSERT INTO partition_epochs AS e (partition, epoch, shard) SELECT p, 1, $2 FROM unnest($1::integer[]) AS p ' +
          'ON CONFLICT (partition) DO UPDATE SET epoch = e.epoch + 1, shard = EXCLUDED.shard RETURNING partition, epoch',
        [partitions, shardId],
      );
    });
    return new Map(taken.map(({ partition, epoch }) => [partition, Number(epoch)]));
  },
  epochs: async () => {
    const text = 'SELECT partition, epoch FROM partition_epochs';
    const rows = await driver.query<{ partition: number; epoch: string }>(text);
    return new Map(rows.map(({ partition, epoch }) => [partition, Number(epoch)]));
  },
  records: async () => [],
  pruneRecords: async () => undefined,
  keepSnapshots: async () => undefined,
  snapshot: async () => null,
  dropSnapshots: async () => undefined,
});
