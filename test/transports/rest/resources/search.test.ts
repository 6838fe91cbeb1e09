// Goal: the store searches only what the caller may read, and nothing while messages are not indexed yet (110000).
import { expect, it, vi } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { search } from '../../../../transports/rest/resources/search.ts';
import { buildGuild, channel, role } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

it.each([
  [false, 202, { code: 110_000, documents_indexed: 0, retry_after: 2, message: expect.any(String) }],
  [true, 200, { messages: [], total_results: 0, doing_deep_historical_index: false }],
])('an index that is ready or not (%s) is answered with %i', async (isIndexed, status, body) => {
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

/** 10 is a plain member, 11 manages threads; 50 is open, 51 hidden, 52 without history, 53 age-restricted. */
function arrange() {
  const find = vi.fn(async () => ({ hits: [], total: 0 }));
  const read = { search: { isIndexed: async () => true, find }, threads: { listed: async () => [] } };
  const denied = (bit: bigint) => [{ id: '1', type: 0 as const, allow: '0', deny: String(bit) }];
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    roles: [role('60', P.MANAGE_THREADS, 1)],
    members: [fullMember('10'), fullMember('11', ['60'])],
    channels: [
      channel('50'),
      channel('51', denied(P.VIEW_CHANNEL)),
      channel('52', denied(P.READ_MESSAGE_HISTORY)),
      channel('53', [], { nsfw: true }),
    ],
  });
  const { invoke } = restGuild(guild, search, { read });
  const ask = (as: string, query: object, applicationFlags = 1 << 18) =>
    invoke('guild_search', { as, query: { content: 'boat', ...query }, applicationFlags });
  return { find, ask };
}

it.each([
  ['10', {}, ['50'], []],
  ['11', {}, ['50'], ['50']],
  ['10', { include_nsfw: 'true' }, ['50', '53'], []],
  ['11', { channel_id: ['51'] }, ['50'], ['50']],
])('user %s with %j searches %j, and all private threads of %j', async (as, query, readable, managed) => {
  const { find, ask } = arrange();
  expect((await ask(as, query)).status).toBe(200);
  expect(find).toHaveBeenCalledWith('1', expect.objectContaining({ readable, managed, readerId: as }));
});

it('a bot without the message content intent and a non-member are refused, and nothing is searched', async () => {
  const { find, ask } = arrange();
  expect(codeOf(await ask('10', {}, 0))).toBe(50_001);
  expect((await ask('99', {})).status).toBeGreaterThanOrEqual(400);
  expect(find).not.toHaveBeenCalled();
});
