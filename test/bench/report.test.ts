// Goal: whatever form a report takes, its figures are in it, and nothing in it can become markup.
import { describe, expect, test } from 'vitest';
import { pageOf } from '../../bench/gateway/page.ts';
import { csvOf, tableOf } from '../../bench/gateway/report.ts';
import { buildReport } from './report.builder.ts';

describe('a report', () => {
  const report = buildReport({ p99: 21.5 });

  test('ends with its one headline as a table', () => {
    const lines = tableOf(report).split('\n');
    expect(lines.at(-1)).toBe(
      '12,340 deliveries/s to 1,234 connections, p50 3.25 ms, p99 21.5 ms, none lost',
    );
    expect(lines.some((line) => /send to receipt p99 +21\.5 ms/.test(line))).toBe(true);
  });

  test('says loudly that messages were lost', () => {
    expect(buildReport({ lost: 3 }).headline).toContain('3 LOST');
  });

  test('has one value for each column as CSV', () => {
    const [head, row] = csvOf(report).trim().split('\n') as [string, string];
    const cells = row.split(',');
    expect(cells).toHaveLength(head.split(',').length);
    expect(cells[head.split(',').indexOf('p99_ms')]).toBe('21.5');
    expect(cells[head.split(',').indexOf('deliveries')]).toBe('61700');
  });

  test('has the figures and both plots as a page, and loads nothing from elsewhere', () => {
    const page = pageOf(report);
    for (const figure of ['12,340 deliveries/s', '21.5 ms', '61,700', '911']) expect(page).toContain(figure);
    expect(page.match(/<svg /g)).toHaveLength(2);
    expect(page).not.toMatch(/<script|src=|href=/);
    expect(page).not.toContain('NaN');
  });

  test('shows markup in an address as text on its page', () => {
    const page = pageOf(buildReport({ url: 'ws://127.0.0.1/<img onerror="x">' }));
    expect(page).not.toContain('<img');
    expect(page).toContain('&#60;img');
  });
});
