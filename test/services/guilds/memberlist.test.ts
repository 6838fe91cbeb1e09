// Goal: a list of members is complete and consistently numbered, page by page, while members join and leave.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LiveSession } from '../../../actors/session/backend.ts';
import type { DispatchBody } from '../../../engine/fanout/body.ts';
import type { Guild, Member } from '../../../engine/guild/guild.ts';
import type { MembersChunk } from '../../../engine/guild/members.chunks.ts';
import type { UserId } from '../../../protocol/ids.ts';
import type { MembersRequest } from '../../../protocol/sessionrequests.ts';
import { deliverMembers, type MemberListPorts } from '../../../services/guilds/memberlist.ts';
import { GUILD_ID, member } from '../../support/guild.ts';

const ASKER = '100000';
const ALL: MembersRequest = {
  guildId: GUILD_ID,
  query: '',
  userIds: null,
  limit: 0,
  presences: false,
  nonce: 'n',
};

/** A guild of the asker and `others`, and a session whose socket takes the next dispatch when `between` has run. */
function arrange(others: number, between: (rows: Map<string, Member>, chunks: number) => void = () => {}) {
  const rows = new Map<string, Member>();
  const add = (id: string) => rows.set(id, member(id));
  for (let at = 0; at < others; at += 1) add(String(200_000 + at * 2));
  add(ASKER);
  const chunks: MembersChunk[] = [];
  const pages: number[] = [];
  const session = {
    userId: ASKER,
    over: false,
    writable: async () => between(rows, chunks.length),
    deliver: ({ d }: DispatchBody) => chunks.push(d as MembersChunk),
  };
  const online = (id: string) => [id, { user: { id } }] as const;
  const guild = () => ({
    members: new Map([...rows].filter(([id]) => id === ASKER)),
    memberCount: rows.size,
    presences: new Map([online(ASKER), online('200000')]),
  });
  const sorted = () => [...rows.values()].sort((a, b) => Number(a.user.id) - Number(b.user.id));
  const ports: MemberListPorts = {
    guilds: { look: async (_id, read) => read(guild() as unknown as Guild) },
    store: {
      members: async (_id, ids) => ids.flatMap((id) => rows.get(id) ?? []),
      membersAfter: async (_id, after, limit) => {
        const page = sorted().filter(({ user }) => Number(user.id) > Number(after ?? 0));
        pages.push(limit);
        return page.slice(0, limit);
      },
      membersByPrefix: async (_id, _prefix, limit) => sorted().slice(0, limit),
    },
    clock: { monotonic: () => 0 },
  };
  const ask = (change: Partial<MembersRequest> = {}) =>
    deliverMembers(session as unknown as LiveSession, { ...ALL, ...change }, ports);
  return { rows, add, chunks, pages, session, ask };
}

const idsOf = (chunks: readonly MembersChunk[]) =>
  chunks.flatMap(({ members }) => members.map((m) => m.user.id));

/** Expects the fields by which a client puts a series of chunks together. */
function expectSeries(chunks: readonly MembersChunk[], count: number) {
  expect(chunks.map((chunk) => chunk.chunk_index)).toEqual(
    Array.from({ length: count }, (_, index) => index),
  );
  for (const chunk of chunks) expect(chunk).toMatchObject({ chunk_count: count, nonce: 'n' });
}

describe('the list of all members', () => {
  it('is whole and in order, a page of the store for each chunk', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 3500 }), async (others) => {
        const { ask, rows, chunks, pages } = arrange(others);
        await ask();
        expectSeries(chunks, Math.ceil((others + 1) / 1000));
        expect(idsOf(chunks)).toEqual([...rows.keys()].sort());
        expect(pages).toHaveLength(chunks.length);
        for (const { members } of chunks) expect(members.length).toBeLessThanOrEqual(1000);
      }),
      { numRuns: 20 },
    );
  });

  it('contains every member who stays, with its announced chunk count, while others join and leave', async () => {
    const moves = fc.array(
      fc.array(fc.record({ at: fc.nat(7999), joins: fc.boolean() }), { maxLength: 40 }),
      {
        maxLength: 6,
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1900, max: 3100 }), moves, async (others, turns) => {
        const left = new Set<string>();
        const { ask, rows, chunks } = arrange(others, (members, told) => {
          for (const { at, joins } of turns[told] ?? []) {
            const id = String(200_000 + at);
            if (joins) members.set(id, member(id));
            else if (members.delete(id)) left.add(id);
          }
        });
        const before = [...rows.keys()];
        await ask();
        expectSeries(chunks, Math.ceil(before.length / 1000));
        const told = idsOf(chunks);
        expect(new Set(told).size).toBe(told.length);
        const known = new Set<string>(told);
        expect(before.filter((id) => !left.has(id) && !known.has(id))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('sends members pushed behind its end by new ones in the last chunk', async () => {
    const { ask, chunks } = arrange(1999, (rows, told) => {
      if (told === 1) rows.set('200001', member('200001')).set('203001', member('203001'));
    });
    await ask();
    expectSeries(chunks, 2);
    expect(chunks.map(({ members }) => members.length)).toEqual([1000, 1001]);
    expect(idsOf(chunks).at(-1)).toBe('203996');
  });

  it('is filled up with empty chunks when many leave', async () => {
    const { ask, chunks } = arrange(2500, (rows, told) => {
      if (told === 1) for (const id of [...rows.keys()]) if (id !== ASKER) rows.delete(id);
    });
    await ask();
    expectSeries(chunks, 3);
    expect(chunks.map(({ members }) => members.length)).toEqual([1000, 0, 0]);
  });

  it('ends with the session, and with its user in the guild', async () => {
    const gone = arrange(2500, (rows, told) => {
      if (told === 1) rows.delete(ASKER);
    });
    await gone.ask();
    expect(gone.chunks).toHaveLength(1);
    const over = arrange(2500, (_, told) => {
      if (told === 2) over.session.over = true;
    });
    await over.ask();
    expect([over.chunks.length, over.pages.length]).toEqual([2, 2]);
    const stranger = arrange(5);
    stranger.rows.delete(ASKER);
    await stranger.ask();
    expect(stranger.chunks).toEqual([]);
  });
});

describe('some members', () => {
  it('are sent in one chunk, with the ids not found and the presences', async () => {
    const { ask, chunks } = arrange(3);
    await ask({ query: null, userIds: ['200000', '7'] as UserId[], presences: true });
    expect(idsOf(chunks)).toEqual(['200000']);
    expect(chunks).toMatchObject([
      { chunk_index: 0, chunk_count: 1, not_found: ['7'], presences: [{ user: { id: '200000' } }] },
    ]);
  });

  it('are as many as were asked for, by name or not', async () => {
    for (const query of ['u', '']) {
      const { ask, chunks } = arrange(2500);
      await ask({ query, limit: 3 });
      expect(idsOf(chunks)).toEqual([ASKER, '200000', '200002']);
      expectSeries(chunks, 1);
    }
  });
});
