// Goal: docs/dates.md has every dated rule, with both sides.
import { expect, test } from 'vitest';
import { CONTRACT_DATES } from '../../protocol/dates.ts';
import { read } from '../support/source.ts';

test('the page has a row for each rule, by date', () => {
  const rows = read('docs/dates.md')
    .split('\n')
    .filter((line) => /^\| \d{4}-/.test(line));
  const rules = Object.values(CONTRACT_DATES);
  expect(rows).toEqual(rules.map(({ from, before, since }) => `| ${from} | ${before} | ${since} |`));
  expect(rules.map(({ from }) => from)).toEqual(rules.map(({ from }) => from).sort());
});
