import { expect, test } from 'vitest';

export type Counts = Readonly<Record<string, number>>;

/**
 * Lists the counts that differ from their budgets. A room without a budget may have none.
 *
 * @param slack How far a count may fall below its budget before the budget has to follow.
 */
export function budgetObjections(counts: Counts, budgets: Counts, advice: string, slack = 0): string[] {
  const names = new Set([...Object.keys(budgets), ...Object.keys(counts)]);
  return [...names].toSorted().flatMap((name) => {
    const [count = 0, budget = 0] = [counts[name], budgets[name]];
    if (count > budget) return [`${name}: ${count}, and ${budget} are allowed: ${advice}`];
    return count < budget - slack ? [`${name}: only ${count} of ${budget}: lower the budget`] : [];
  });
}

/** The sum by the key of each element. */
export function countBy<T>(elements: Iterable<T>, keyOf: (element: T) => string): Counts {
  const counts: Record<string, number> = {};
  for (const element of elements) counts[keyOf(element)] = (counts[keyOf(element)] ?? 0) + 1;
  return counts;
}

/** Tests of the budgets themselves; called in a `describe`. */
export function budgetTests(): void {
  test.each([
    [{ a: 20 }, { a: 20 }, 0, []],
    [{ a: 21 }, { a: 20 }, 3, ['a: 21, and 20 are allowed: shrink']],
    [{ a: 19 }, { a: 20 }, 0, ['a: only 19 of 20: lower the budget']],
    [{ a: 17 }, { a: 20 }, 3, []],
    [{ a: 16 }, { a: 20 }, 3, ['a: only 16 of 20: lower the budget']],
    [{ b: 1 }, {}, 0, ['b: 1, and 0 are allowed: shrink']],
    [{}, { a: 1 }, 0, ['a: only 0 of 1: lower the budget']],
  ])('compare counts %j with budgets %j and a slack of %i: %j', (counts, budgets, slack, expected) => {
    expect(budgetObjections(counts, budgets, 'shrink', slack)).toEqual(expected);
  });
}
