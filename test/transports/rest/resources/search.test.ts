// Goal: a guild whose messages are not indexed yet is answered with 110000, and nothing is searched.
import { expect, it, vi } from 'vitest';
import { search } from '../../../../transports/rest/resources/search.ts';
import { buildGuild } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { restGuild } from '../../../support/restguild.ts';

it.each([
  [false, 202, { code: 110_000, documents_indexed: 0, retry_after: 2, message: expect.any(String) }],
  [true, 200, { messages: [], total_results: 0, doing_deep_historical_index: false }],
])('with an index that is ready or not (%s) answers %i', async (isIndexed, status, body) => {
  const find = vi.fn(async () => ({ hits: [], total: 0 }));
  const read = { search: { isIndexed: async () => isIndexed, find }, threads: { listed: async () => [] } };
  const guild = buildGuild({ everyone: (1n << 10n) | (1n << 16n), members: [fullMember('10')] });
  const { invoke } = restGuild(guild, search, { read });
  expect(
    await invoke('guild_search', { as: '10', query: { content: 'boat' }, applicationFlags: 1 << 18 }),
  ).toMatchObject({
    status,
    body,
  });
  expect(find).toHaveBeenCalledTimes(isIndexed ? 1 : 0);
});
