// Goal: every operation that answers with a body has a type for it, and no type stands for an operation that is gone.
import { expect, test } from 'vitest';
import type { AnyOperation } from '../../../transports/rest/operation.ts';
import { operations, unlisted } from '../../../transports/rest/resources/index.ts';
import { read } from '../../support/source.ts';

const [, rows = ''] = read('transports/wire/replies.ts').split('export interface Replies {');
const typed = [...rows.matchAll(/^ {2}readonly (\w+):/gm)].map(([, name = '']) => name);
const all: Readonly<Record<string, AnyOperation>> = { ...operations, ...unlisted };

test('every operation that does not answer 204 has a row', () => {
  const answering = Object.entries(all).filter(([, { status }]) => status !== 204);
  expect(answering.map(([id]) => id).filter((id) => !typed.includes(id))).toEqual([]);
});

test('every row is of an operation, once', () => {
  expect(typed.filter((id) => !(id in all))).toEqual([]);
  expect(typed).toEqual([...new Set(typed)]);
});
