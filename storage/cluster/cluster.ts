import type { SessionFilter } from '../../engine/fanout/direct.ts';
import type { UserId } from '../../protocol/ids.ts';
import { type Driver, isStale, rowText, type Sql, StaleEpoch } from '../database/driver.ts';
import { rows, type Statement, upsert } from '../database/statement.ts';
import { fencing, staleAmong } from './fence.ts';
import type { ClusterStore, CommandRecord, RecordedDispatch, Snapshot } from './port.ts';

const RECORD = { owner_id: 'bigint', n: 'bigint', at_ms: 'bigint', command_key: 'text', data: 'text' };

/** No number is used twice, except after the database was restored to an earlier state; the existing row is then kept. */
const WRITE_RECORD = `
INSERT INTO command_records SELECT ${Object.keys(RECORD).join(', ')} FROM ${rows(RECORD)} ON CONFLICT DO NOTHING`;

const TOLD = { user_id: 'bigint', owner_id: 'bigint', n: 'bigint', at_ms: 'bigint' };
const WRITE_TOLD = `
INSERT INTO told_users SELECT ${Object.keys(TOLD).join(', ')} FROM ${rows(TOLD)} ON CONFLICT DO NOTHING`;

const READ_TOLD = `
SELECT user_id, owner_id, n, at_ms FROM told_users WHERE user_id = ANY($1::bigint[]) AND at_ms >= $2
ORDER BY at_ms DESC LIMIT $3`;

const READ_AT = `
SELECT c.owner_id, c.n, c.at_ms, c.command_key, c.data
FROM unnest($1::bigint[], $2::bigint[]) AS at(owner_id, n) JOIN command_records c USING (owner_id, n)`;

const WRITE_SNAPSHOT = upsert(
  'actor_snapshots',
  { owner_id: 'bigint', at_ms: 'bigint', data: 'jsonb' },
  'owner_id',
);

/** Newest first, so that the limit omits the oldest. */
const READ_RECORDS = `
SELECT n, at_ms, command_key, data FROM command_records WHERE owner_id = $1 AND at_ms >= $2 ORDER BY n DESC LIMIT $3`;

interface RecordRow {
  readonly n: string;
  readonly at_ms: string;
  readonly command_key: string | null;
  readonly data: string;
}

/** A dispatch as stored. The key of its filter, `ears`, is that of rows which older versions have written and may read. */
type StoredDispatch = Omit<RecordedDispatch, 'filter'> & { readonly ears?: SessionFilter };

interface RecordData {
  readonly reply: unknown;
  readonly dispatches: readonly StoredDispatch[];
}

const storedOf = ({ filter, ...rest }: RecordedDispatch): StoredDispatch =>
  filter ? { ...rest, ears: filter } : rest;
const recordedOf = ({ ears, ...rest }: StoredDispatch): RecordedDispatch =>
  ears ? { ...rest, filter: ears } : rest;

/** Statements for the record, and for a pointer to it for each user with a direct notification in it. */
export function recordStatements(commitOwnerId: string, record: CommandRecord): Statement[] {
  const { n, atMs, commandKey, reply, dispatches, streamOwnerId: ownerId = commitOwnerId } = record;
  const data = JSON.stringify({ reply, dispatches: dispatches.map(storedOf) } satisfies RecordData);
  const row = { owner_id: ownerId, n, at_ms: atMs, command_key: commandKey, data };
  const userIds = new Set(
    dispatches.flatMap(({ filter, to }) => (filter && to.kind === 'users' ? to.userIds : [])),
  );
  const pointers = [...userIds].map((userId) => ({
    sql: WRITE_TOLD,
    row: { user_id: userId, owner_id: ownerId, n, at_ms: atMs },
  }));
  return [{ sql: WRITE_RECORD, row }, ...pointers];
}

function recordOf({ n, at_ms, command_key, data }: RecordRow): CommandRecord {
  const { reply, dispatches } = JSON.parse(data) as RecordData;
  return {
    ...{ n: Number(n), atMs: Number(at_ms), commandKey: command_key, reply },
    dispatches: dispatches.map(recordedOf),
  };
}

/** The ids of this shard, which continue after all ids ever written. */
interface RaisedMarks {
  raise(sql: Sql): Promise<void>;
}

/**
 * Locks first, in the same order as transactions do, so that it waits for the commits in progress and continues with their
 * results.
 */
async function takeOver(
  driver: Driver,
  marks: RaisedMarks,
  partitions: readonly number[],
  shardId: string,
): Promise<ReadonlyMap<number, number>> {
  const taken = await driver.transaction(async (sql) => {
    await sql.query(
      'SELECT pg_advisory_xact_lock(7166012, p) FROM (SELECT unnest($1::integer[]) AS p ORDER BY 1) AS wanted',
      [partitions],
    );
    // After the awaited commits, because the last owner's clock may have been ahead of this one's.
    await marks.raise(sql);
    return sql.query<{ partition: number; epoch: string }>(
      'INSERT INTO partition_epochs AS e (partition, epoch, shard) SELECT p, 1, $2 FROM unnest($1::integer[]) AS p ' +
        'ON CONFLICT (partition) DO UPDATE SET epoch = e.epoch + 1, shard = EXCLUDED.shard RETURNING partition, epoch',
      [partitions, shardId],
    );
  });
  return new Map(taken.map(({ partition, epoch }) => [partition, Number(epoch)]));
}

async function keepSnapshots(driver: Driver, snapshots: readonly Snapshot[]): Promise<void> {
  if (snapshots.length === 0) return;
  const fences = snapshots.map(({ fence }) => fence);
  const written = snapshots.map(({ ownerId, atMs, data }) =>
    rowText({ owner_id: ownerId, at_ms: atMs, data }),
  );
  try {
    await driver.batch([...fencing(fences), { text: WRITE_SNAPSHOT, values: [`[${written.join(',')}]`] }]);
  } catch (error) {
    if (!isStale(error)) throw error;
    const [stale] = await staleAmong(driver, fences);
    throw stale ? new StaleEpoch(stale, { cause: error }) : error;
  }
}

export const clusterStore = (driver: Driver, marks: RaisedMarks): ClusterStore => ({
  takeOver: (partitions, shardId) => takeOver(driver, marks, partitions, shardId),
  epochs: async () => {
    const text = 'SELECT partition, epoch FROM partition_epochs';
    const found = await driver.query<{ partition: number; epoch: string }>(text);
    return new Map(found.map(({ partition, epoch }) => [partition, Number(epoch)]));
  },
  isLast: async (fence) => (await staleAmong(driver, [fence])).length === 0,
  records: async (ownerId, sinceMs, limit) => {
    const found = await driver.query<RecordRow>(READ_RECORDS, [ownerId, sinceMs, limit]);
    return found.map(recordOf).reverse();
  },
  deliveriesTo: async (userIds, sinceMs, limit) => {
    const found = await driver.query<Record<keyof typeof TOLD, string>>(READ_TOLD, [userIds, sinceMs, limit]);
    return found.map(({ user_id, owner_id, n, at_ms }) => ({
      userId: String(user_id) as UserId,
      ownerId: String(owner_id),
      ...{ n: Number(n), atMs: Number(at_ms) },
    }));
  },
  recordsAt: async (places) => {
    const columns = [places.map(({ ownerId }) => ownerId), places.map(({ n }) => n)];
    const found = await driver.query<RecordRow & { readonly owner_id: string }>(READ_AT, columns);
    return found.map((row) => ({ ...recordOf(row), ownerId: String(row.owner_id) }));
  },
  pruneRecords: async (beforeMs) => {
    await driver.query('DELETE FROM told_users WHERE at_ms < $1', [beforeMs]);
    await driver.query('DELETE FROM command_records WHERE at_ms < $1', [beforeMs]);
    await driver.query('DELETE FROM actor_snapshots WHERE at_ms < $1', [beforeMs]);
  },
  keepSnapshots: (snapshots) => keepSnapshots(driver, snapshots),
  snapshot: async (ownerId) => {
    const text = 'SELECT at_ms, data FROM actor_snapshots WHERE owner_id = $1';
    const [row] = await driver.query<{ at_ms: string; data: object }>(text, [ownerId]);
    return row ? { atMs: Number(row.at_ms), data: row.data } : null;
  },
  dropSnapshots: async (ownerIds) => {
    await driver.query('DELETE FROM actor_snapshots WHERE owner_id = ANY($1::bigint[])', [ownerIds]);
  },
});
