// Goal: each page of the console has an address, so that a reload and the Back key lead to where one was.
import { expect, test } from 'vitest';
import { hashOf, pageIn } from '../../web/console/address.ts';

const PAGES = ['Overview', 'Webhook deliveries'] as const;

test('a page of the console is found by its address, and a code is no page', () => {
  expect(PAGES.map(hashOf)).toEqual(['#overview', '#webhook-deliveries']);
  for (const page of PAGES) expect(pageIn(hashOf(page), PAGES)).toBe(page);
  for (const other of ['', '#', '#code=overview', '#constructor']) expect(pageIn(other, PAGES)).toBeNull();
});
