// Goal: interactions never use what they cached about an application before its change was durable.
import { expect, test } from 'vitest';
import { committingApplications } from '../../../services/applications/commits.ts';

test('the cache is invalidated after the commit, and not when the commit fails', async () => {
  const log: string[] = [];
  let fault: Error | null = null;
  const commit = committingApplications(
    async () => {
      await Promise.resolve();
      if (fault) throw fault;
      log.push('committed');
    },
    (id) => log.push(`forgot ${id}`),
  );
  await commit('7', []);
  expect(log).toEqual(['committed', 'forgot 7']);
  fault = new Error('The database is away.');
  await expect(commit('8', [])).rejects.toBe(fault);
  expect(log).toHaveLength(2);
});
