import type { BatchStatement, Fence, Sql } from '../database/driver.ts';

const keyOf = ({ partition, epoch }: Fence): string => `${partition}:${epoch}`;

const distinct = (fences: readonly Fence[]): Fence[] => [
  ...new Map(fences.map((fence) => [keyOf(fence), fence])).values(),
];

/**
 * The statement that begins a transaction under these fences; none without fences. It refuses the transaction (GH001) when
 * one of the epochs has been superseded, and otherwise locks the partitions until the transaction ends.
 */
export function fencing(fences: readonly Fence[]): readonly BatchStatement[] {
  if (fences.length === 0) return [];
  const each = distinct(fences);
  const partitions = each.map(({ partition }) => partition);
  const epochs = each.map(({ epoch }) => epoch);
  return [{ text: 'SELECT guildhall_fence($1, $2)', values: [`{${partitions}}`, `{${epochs}}`] }];
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
