import assert from 'node:assert/strict';
import type { Fence, Sql } from '../database/driver.ts';

const keyOf = ({ partition, epoch }: Fence): string => `${partition}:${epoch}`;

const distinct = (fences: readonly Fence[]): Fence[] => [
  ...new Map(fences.map((fence) => [keyOf(fence), fence])).values(),
];

/**
 * The script that opens a transaction under these fences; undefined without fences. It refuses the transaction (GH001) when
 * one of the epochs has been superseded, and otherwise locks the partitions until the transaction ends.
 */
export function fencing(fences: readonly Fence[]): string | undefined {
  if (fences.length === 0) return undefined;
  const each = distinct(fences);
  for (const { partition, epoch } of each)
    assert(Number.isSafeInteger(partition) && Number.isSafeInteger(epoch), 'a fence consists of integers');
  // As literals, since a script has no parameters; they are checked to be integers.
  const list = (numbers: readonly number[]) => `'{${numbers.join(',')}}'`;
  const partitions = list(each.map(({ partition }) => partition));
  return `SELECT guildhall_fence(${partitions}, ${list(each.map(({ epoch }) => epoch))})`;
}

/** The fences whose epoch has been superseded. */
export async function staleAmong(sql: Sql, fences: readonly Fence[]): Promise<Fence[]> {
  const rows = await sql.query<{ partition: number; epoch: string }>(
    'SELECT partition, epoch FROM partition_epochs WHERE partition = ANY($1::integer[])',
    [fences.map(({ partition }) => partition)],
  );
  const current = new Map(rows.map(({ partition, epoch }) => [partition, Number(epoch)]));
  return distinct(fences).filter(({ partition, epoch }) => current.get(partition) !== epoch);
}
