/** Goal: a list of members reaches its asker whole, in order, in chunks of a thousand. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Member } from '../../../engine/guild/guild.ts';
import { membersChunks } from '../../../engine/guild/members.chunks.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { GUILD_ID, member } from '../../support/guild.ts';

const list = (count: number): Member[] => Array.from({ length: count }, (_, at) => member(String(1000 + at)));

it('cuts and numbers without losing anyone', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3500 }), (count) => {
      const members = list(count);
      const chunks = membersChunks({ guildId: GUILD_ID, members, notFound: [], presences: null, nonce: 'n' });
      expect(chunks.flatMap((chunk) => chunk.members)).toEqual(members);
      expect(chunks).toHaveLength(Math.max(1, Math.ceil(count / 1000)));
      chunks.forEach((chunk, index) => {
        expect(chunk).toMatchObject({
          guild_id: '1',
          chunk_index: index,
          chunk_count: chunks.length,
          nonce: 'n',
        });
        expect(chunk.members.length).toBeLessThanOrEqual(1000);
      });
    }),
    { numRuns: 20 },
  );
});

it('sends presences along with their members, when they were asked for', () => {
  const presence = (userId: string) => ({ user: { id: userId }, guild_id: GUILD_ID });
  const presences = new Map(['1000', '2001', '9999'].map((id) => [id as UserId, presence(id)]));
  const chunks = membersChunks({
    guildId: GUILD_ID,
    members: list(1002),
    notFound: [],
    presences,
    nonce: null,
  });
  expect(chunks.map((chunk) => chunk.presences)).toEqual([[presence('1000')], [presence('2001')]]);
  expect(chunks[0]).not.toHaveProperty('nonce');
});

it('names who was not found, once, and leaves out what there is nothing of', () => {
  const ask = (notFound: string[]) =>
    membersChunks({ guildId: GUILD_ID, members: [], notFound, presences: null, nonce: null });
  expect(ask(['5'])).toEqual([
    { guild_id: '1', members: [], chunk_index: 0, chunk_count: 1, not_found: ['5'] },
  ]);
  expect(ask([])).toEqual([{ guild_id: '1', members: [], chunk_index: 0, chunk_count: 1 }]);
});
