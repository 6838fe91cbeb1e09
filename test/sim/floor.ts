import type { Judge } from './judge.ts';
import type { SimShard } from './shard.ts';

/** Metrics that are 0 once all clients have left. */
const OF_CLIENTS: ReadonlySet<string> = new Set([
  'guildhall_gateway_sessions',
  'guildhall_residents',
  'guildhall_lobby_members_connected',
  'guildhall_identifies_waiting',
  'guildhall_resumes_waiting',
  'guildhall_hydrations_waiting',
  'guildhall_loads_waiting',
  'guildhall_interactions_waiting',
]);

/** May exceed a small bound: the journal names each session in two segments. */
const SOFT_BOUND = 'guildhall_journal_bytes';

/** Judges the bounds that the shards' own metrics name. */
export async function judgeMetrics(shards: readonly SimShard[], judge: Judge): Promise<void> {
  for (const { instance, metrics } of shards)
    for (const { name, max, read } of metrics) {
      if (max === undefined || name === SOFT_BOUND) continue;
      const value = await read();
      judge.expect(value <= max, 'bounds', () => `${instance}: ${name} is ${value} of ${max}`);
    }
}

/** Judges that shards keep nothing of clients that left longer ago than any retention time. */
export async function judgeFloor(shards: readonly SimShard[], judge: Judge): Promise<void> {
  for (const { instance, metrics } of shards)
    for (const { name, labels = {}, read } of metrics) {
      if (!OF_CLIENTS.has(name)) continue;
      const value = await read();
      const what = [name, ...Object.values(labels)].join(' ');
      judge.expect(
        value === 0,
        'floor',
        () => `${instance}: ${what} is ${value} after all clients have left`,
      );
    }
}
