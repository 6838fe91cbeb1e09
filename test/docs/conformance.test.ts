// Goal: docs/conformance.md has a row for every operation of the published file, says which are built, and names tests that are
// there. What the rows say of tests is compared with a whole run by scripts/replies.mjs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../transports/rest/operations.generated.ts';
import { operations } from '../../transports/rest/resources/index.ts';
import { ROOT } from '../support/root.ts';

interface Answer {
  readonly operationId: string;
  readonly answer: number;
  readonly file: string;
}
interface Script {
  rowsOf(listed: readonly string[], built: readonly string[], records: readonly Answer[]): string[][];
  rowsIn(page: string): string[][];
  pageWith(page: string, rows: readonly (readonly string[])[]): string;
  claimsIn(page: string): Answer[];
  dispatchClaimsIn(page: string): Answer[];
  staleClaims(page: string, records: readonly Answer[]): string[];
}
const script: Script = await import(pathToFileURL(join(ROOT, 'scripts/conformance.mjs')).href);
const page = readFileSync(join(ROOT, 'docs/conformance.md'), 'utf8');

describe('the table of docs/conformance.md', () => {
  test('has a row for every operation of the published file, and says which of them are built', () => {
    const expected = script.rowsOf(OPERATIONS, Object.keys(operations), []);
    const told = script.rowsIn(page);
    expect(told.map((cells) => cells.slice(0, 2))).toEqual(expected.map((cells) => cells.slice(0, 2)));
  });

  test('names a refusal of every operation that is built and can be refused', () => {
    const claims = script.claimsIn(page).filter(({ answer }) => answer >= 400);
    const refused = new Set(claims.map(({ operationId }) => operationId));
    const built = Object.keys(operations);
    expect(built.filter((id) => !refused.has(id)).sort()).toEqual(NEVER_REFUSED);
  });

  test('names tests that are there', () => {
    const files = new Set(script.claimsIn(page).map(({ file }) => file));
    expect([...files].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

/** Operations that anyone may ask, whatever is given. */
const NEVER_REFUSED = ['get_gateway', 'get_public_keys', 'list_sticker_packs'];

describe('the script that makes it', () => {
  const records = [
    { operationId: 'a', answer: 200, file: 'test/e2e/x.test.ts' },
    { operationId: 'a', answer: 10003, file: 'test/e2e/y.test.ts' },
    { operationId: 'a', answer: 10003, file: 'test/e2e/z.test.ts' },
    { operationId: 'a', answer: 50035, file: 'test/e2e/z.test.ts' },
    { operationId: 'a', answer: 50001, file: 'test/e2e/y.test.ts' },
    { operationId: 'a', answer: 404, file: 'test/e2e/z.test.ts' },
  ];
  const rows = script.rowsOf(['a GET /a', 'b GET /b'], ['a'], records);

  test('names as few test files as show all refusals', () => {
    expect(rows).toEqual([
      [
        '`a` GET /a',
        'yes',
        '200 in [e2e/x.test.ts](../test/e2e/x.test.ts)',
        '404, 10003, 50035 in [e2e/z.test.ts](../test/e2e/z.test.ts); 50001 in [e2e/y.test.ts](../test/e2e/y.test.ts)',
      ],
      ['`b` GET /b', 'no', '–', '–'],
    ]);
  });

  test('reads its own page, and finds what a run did not see', () => {
    const made = script.pageWith(page, rows);
    expect(script.rowsIn(made)).toEqual(rows);
    expect(script.claimsIn(made)).toHaveLength(5);
    const sent = script.dispatchClaimsIn(page);
    expect(script.staleClaims(made, [...records, ...sent])).toEqual([]);
    expect(script.staleClaims(made, [...records.slice(1), ...sent])).toEqual([
      'docs/conformance.md is stale: no 200 of a in test/e2e/x.test.ts',
    ]);
  });

  test('is content with one of the tests that a dispatch was sent in', () => {
    const made = script.pageWith(page, rows);
    const sent = script.dispatchClaimsIn(page);
    const names = [...new Set(sent.map(({ operationId }) => operationId))];
    const firsts = names.map((name) => sent.find(({ operationId }) => operationId === name)!);
    expect(script.staleClaims(made, [...records, ...firsts])).toEqual([]);
    expect(script.staleClaims(made, [...records, ...firsts.slice(1)])).not.toEqual([]);
  });
});
