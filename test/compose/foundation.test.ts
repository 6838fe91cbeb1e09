// Goal: the log shows what went wrong, and nothing that people wrote.
import { expect, it } from 'vitest';
import { foundationOf } from '../../compose/foundation.ts';
import { DEFAULTS } from '../../config/config.ts';
import { NotServed } from '../../protocol/faults.ts';
import { withoutValues } from '../../storage/database/loggederror.ts';

it('an error is logged with its query, without the values of the query', () => {
  const values = { params: ['a secret'], parameters: ['a secret'] };
  const fault = Object.assign(new Error('refused'), { query: 'SELECT $1', code: '22021', ...values });
  expect(withoutValues(fault)).toMatchObject({ message: 'refused', query: 'SELECT $1', code: '22021' });
  for (const error of [fault, new Error('outer', { cause: fault })])
    expect(JSON.stringify(withoutValues(error))).not.toContain('a secret');
  expect(withoutValues('thrown text')).toBe('thrown text');
});

it('a closed engine still counts faults, except NotServed', async () => {
  const { faults, onFault, lifetime } = foundationOf({ config: { log_level: 'silent' } });
  onFault(new NotServed('This shard does not own the aggregate.'), 'membership');
  expect(faults.get('membership')).toBe(1);
  await lifetime.close();
  onFault(new NotServed('This shard does not own the aggregate.'), 'membership');
  expect(faults.get('membership')).toBe(1);
  onFault(new Error('broken'), 'membership');
  expect(faults.get('membership')).toBe(2);
});

it('an undefined setting keeps its default, also where the default is a free port', () => {
  const unset = undefined as never;
  const given = { log_level: 'silent', resume_window_ms: unset } as const;
  expect(foundationOf({ config: given }).config).toEqual({ ...DEFAULTS, log_level: 'silent' });
  const { config } = foundationOf({ config: { ...given, listen_port: 0, voice_port: unset } });
  expect(config.voice_port).toBe(0);
});
