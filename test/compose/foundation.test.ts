// Goal: the log tells what went wrong, and nothing of what people wrote.
import { expect, it } from 'vitest';
import { withoutValues } from '../../compose/foundation.ts';

it('an error is logged with its query, without the values of the query', () => {
  const values = { params: ['a secret'], parameters: ['a secret'] };
  const fault = Object.assign(new Error('refused'), { query: 'SELECT $1', code: '22021', ...values });
  expect(withoutValues(fault)).toMatchObject({ message: 'refused', query: 'SELECT $1', code: '22021' });
  for (const error of [fault, new Error('outer', { cause: fault })])
    expect(JSON.stringify(withoutValues(error))).not.toContain('a secret');
  expect(withoutValues('thrown text')).toBe('thrown text');
});
