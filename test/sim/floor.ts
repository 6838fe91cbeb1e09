import type { Judge } from './judge.ts';
import type { SimShard } from './shard.ts';

/** What a shard keeps for clients and for their work: nothing once all have left. */
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

/** The journal names each session in two segments, which a small bound cannot forbid. */
const SOFT = 'guildhall_journal_bytes';

/** Judges the bounds that the shards' own metrics name. */
export async function judgeMetrics(shards: readonly SimShard[], judge: Judge): Promise<void> {
  for (const { instance, metrics } of shards)
    for (const { name, max, read } of metrics) {
      if (max === undefined || name === SOFT) continue;
      const value = await read();
      judge.expect(value <= max, 'bounds', () => `${instance}: ${name} is ${value} of ${max}`);
    }
}

/** Judges that nothing is left in memory of clients that have left, longer ago than anything is kept for them. */
export async function judgeFloor(
  shards: readonly SimShard[],
  judge: Judge,
  hasFaults: boolean,
): Promise<void> {
  for (const { instance, metrics } of shards)
    for (const { name, labels = {}, read } of metrics) {
      if (!OF_CLIENTS.has(name)) continue;
      // A lobby that another shard could not reach has not learned of a session's end.
      if (hasFaults && labels.kind === 'lobby') continue;
      const value = await read();
      const what = [name, ...Object.values(labels)].join(' ');
      judge.expect(
        value === 0,
        'floor',
        () => `${instance}: ${what} is ${value} after all clients have left`,
      );
    }
}
