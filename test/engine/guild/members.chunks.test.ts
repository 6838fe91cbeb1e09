/** Goal: a chunk of members says what part of the answer it is, and nothing that was not asked for. */
import { expect, it } from 'vitest';
import { chunkCountOf, membersChunk } from '../../../engine/guild/members.chunks.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { GUILD_ID, member } from '../../support/guild.ts';

const nothing = { guildId: GUILD_ID, members: [], notFound: [], presences: null, nonce: null };

it.each([
  [0, 1],
  [1, 1],
  [1000, 1],
  [1001, 2],
  [1_000_000, 1000],
])('cuts %i members into %i chunks', (members, chunks) => {
  expect(chunkCountOf(members)).toBe(chunks);
});

it('sends presences with their members on request', () => {
  const presence = (userId: string) => ({ user: { id: userId }, guild_id: GUILD_ID });
  const presences = new Map(['1000', '9999'].map((id) => [id as UserId, presence(id)]));
  const members = [member('1000'), member('1001')];
  expect(membersChunk({ ...nothing, members, presences }, 1, 3)).toEqual({
    guild_id: '1',
    members,
    chunk_index: 1,
    chunk_count: 3,
    presences: [presence('1000')],
  });
});

it('contains not_found and the nonce, and omits empty fields', () => {
  const chunk = { guild_id: '1', members: [], chunk_index: 0, chunk_count: 1 };
  expect(membersChunk({ ...nothing, notFound: ['5'], nonce: 'n' })).toEqual({
    ...chunk,
    not_found: ['5'],
    nonce: 'n',
  });
  expect(membersChunk(nothing)).toEqual(chunk);
});
