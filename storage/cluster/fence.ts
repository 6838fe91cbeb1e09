import assert from 'node:assert/strict';
import type { Fence, Sql } from '../database/driver.ts';

const keyOf = ({ partition, epoch }: Fence): string => `${partition}:${epoch}`;

const distinct = (fences: readonly Fence[]): Fence[] => [
  ...new Map(fences.map((fence) => [keyOf(fence), fence])).values(),
];

/**
 * The script that opens a transaction under these fences; undefined when there are none. It refuses the transaction
 * (GH001) when one of the epochs is over, and else holds the partitions until the transaction ends.
 */
export function fencing(fences: readonly Fence[]): string | undefined {
  if (fences.length === 0) return undefined;
  const each = distinct(fences);
  for (const { partition, epoch } of each)
    assert(Number.isSafeInteger(partition) && Number.isSafeInteger(epoch), 'a fence is of whole numbers');
  // As literals, since a script takes no parameters; they are whole numbers.
  const list = (numbers: readonly number[]) => `'{${numbers.join(',')}}'`;
  const partitions = list(each.map(({ partition }) => partition));
  return `SELECT guildhall_fence(${partitions}, ${list(each.map(({ epoch }) => epoch))})`;
}

/** Those whose epoch is over. */
export async function staleAmong(sql: Sql, fences: readonly Fence[]): Promise<Fence[]> {
  const rows = await sql.query<{ partition: number; epoch: string }>(
    'SELECT partition, epoch FROM partition_epochs WHERE partition = ANY($1::integer[])',
    [fences.map(({ partition }) => partition)],
  );
  const current = new Map(rows.map(({ partition, epoch }) => [partition, Number(epoch)]));
  return distinct(fences).filter(({ partition, epoch }) => current.get(partition) !== epoch);
}
