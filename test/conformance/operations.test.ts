// Goal: what is declared is the platform's interface: every operation is at its place, or a known gap.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../transports/rest/catalog.ts';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { OPERATIONS } from '../../transports/rest/operations.generated.ts';
import { operations } from '../../transports/rest/resources/index.ts';
import { specOperations } from '../support/openapi.ts';

const gaps: string[] = JSON.parse(readFileSync(new URL('gaps.json', import.meta.url), 'utf8'));
const built = Object.entries<AnyOperation>(operations);
const listed = new Map(OPERATIONS.map((line) => [line.split(' ', 1)[0] ?? '', line]));

test('an operation is built or a known gap, never both, never neither', () => {
  const ids = built.map(([id]) => id);
  expect([...ids, ...gaps].sort()).toEqual([...listed.keys()].sort());
});

test('all 242 published operations are built: the list of gaps is empty', () => {
  expect([gaps, listed.size]).toEqual([[], 242]);
});

test('every schema is of the vocabulary, and no two operations are at one place', () => {
  expect(createCatalog(operations).size).toBe(OPERATIONS.length);
});

test.each(built)('%s is at the place it is listed for', (id, { method, path }) => {
  expect(`${id} ${method} ${path}`).toBe(listed.get(id));
});

describe('against the published file', () => {
  const spec = specOperations();

  test('the list that was generated from it is still what it says', () => {
    const lines = [...spec.values()].map(
      ({ operationId, method, path }) => `${operationId} ${method} ${path}`,
    );
    expect([...OPERATIONS]).toEqual(lines.sort());
  });

  test.each(built)('%s answers with a status the file names', (id, { status }) => {
    expect(spec.get(id)?.statuses).toContain(String(status));
  });
});
