/** Goal: whatever two people do, both sides of what they are to each other fit, and a block ends everything. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  RELATION,
  type RelationChanged,
  type RelationType,
  type StoredRelation,
} from '../../../engine/social/facts.ts';
import {
  blockPeer,
  type CountedBond,
  nameFriend,
  RELATIONS_MAX,
  type RelationCounts,
  relationOf,
  removeRelation,
  requestFriendship,
  takeOverRelations,
} from '../../../engine/social/relationships.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';

const [A, B, C] = ['1', '2', '3'] as [UserId, UserId, UserId];
const GAME = '77' as ApplicationId;
const { FRIEND, BLOCKED, INCOMING, OUTGOING } = RELATION;
const env = { nowMs: 1_000 };

const relation = (
  userId: UserId,
  peerId: UserId,
  type: RelationType,
  applicationId: ApplicationId | null = null,
): StoredRelation => ({
  userId,
  peerId,
  applicationId,
  type,
  sinceMs: 1,
  nickname: null,
  originApplicationId: null,
});

interface Given {
  readonly by?: UserId;
  readonly peerId?: UserId;
  readonly in?: ApplicationId | null;
  readonly own?: RelationCounts;
  readonly peer?: RelationCounts;
}

const bond = (relations: readonly StoredRelation[], given: Given = {}): CountedBond => ({
  userId: given.by ?? A,
  peerId: given.peerId ?? (given.by === B ? A : B),
  applicationId: given.in ?? null,
  relations,
  counts: { own: given.own ?? {}, peer: given.peer ?? {} },
});

function happened(before: readonly StoredRelation[], facts: readonly RelationChanged[]): StoredRelation[] {
  let after = [...before];
  for (const { userId, peerId, applicationId, relation: next } of facts) {
    after = after.filter(
      (one) => one.userId !== userId || one.peerId !== peerId || one.applicationId !== applicationId,
    );
    if (next) after.push({ ...next, userId, peerId, applicationId });
  }
  return after;
}

type Rule = (bond: CountedBond) => ReturnType<typeof requestFriendship>;
const ask: Rule = (given) => requestFriendship(given, env);
const block: Rule = (given) => blockPeer(given, env);

const after = (rule: Rule, before: readonly StoredRelation[], given: Given = {}) => {
  const outcome = rule(bond(before, given));
  if (!outcome.ok) return outcome.refusal.code;
  return happened(before, outcome.facts)
    .map(({ userId, peerId, applicationId, type }) => [userId, peerId, applicationId, type].join(' '))
    .sort();
};

describe('friendship', () => {
  it('is asked by one, accepted by the other', () => {
    expect(after(ask, [])).toEqual([`1 2  ${OUTGOING}`, `2 1  ${INCOMING}`]);
    const asked = [relation(A, B, OUTGOING), relation(B, A, INCOMING)];
    expect(after(ask, asked, { by: B })).toEqual([`1 2  ${FRIEND}`, `2 1  ${FRIEND}`]);
    expect(after(ask, asked)).toEqual([`1 2  ${OUTGOING}`, `2 1  ${INCOMING}`]);
  });

  it('is of one game, or of the platform', () => {
    const asked = [relation(A, B, OUTGOING, GAME), relation(B, A, INCOMING, GAME)];
    expect(after(ask, asked, { by: B })).toEqual([
      `1 2  ${INCOMING}`,
      `1 2 77 ${OUTGOING}`,
      `2 1  ${OUTGOING}`,
      `2 1 77 ${INCOMING}`,
    ]);
    expect(after(ask, asked, { by: B, in: GAME })).toEqual([`1 2 77 ${FRIEND}`, `2 1 77 ${FRIEND}`]);
  });

  it('is rejected with oneself, and a user who blocks the caller appears as unknown', () => {
    expect(after(ask, [], { peerId: A })).toBe(50033);
    expect(after(ask, [relation(B, A, BLOCKED)])).toBe(10013);
    expect(after(ask, [relation(B, A, BLOCKED)], { in: GAME })).toBe(10013);
    expect(after(ask, [relation(A, B, BLOCKED)])).toBe(50033);
  });

  it('is bounded on both sides', () => {
    const asked = [relation(A, B, OUTGOING), relation(B, A, INCOMING)];
    const full = { [FRIEND]: RELATIONS_MAX[FRIEND] };
    expect(after(ask, asked, { by: B, own: full })).toBe(30002);
    expect(after(ask, asked, { by: B, peer: full })).toBe(30002);
    expect(after(ask, [], { own: full })).toHaveLength(2);
    expect(after(ask, [], { own: { [OUTGOING]: RELATIONS_MAX[OUTGOING] } })).toBe(30002);
    expect(after(ask, [], { peer: { [INCOMING]: RELATIONS_MAX[INCOMING] } })).toBe(30002);
    expect(after(block, [], { own: { [BLOCKED]: RELATIONS_MAX[BLOCKED] } })).toBe(30002);
  });

  it('may have a name for the other', () => {
    const friends = [relation(A, B, FRIEND), relation(B, A, FRIEND)];
    const named = nameFriend(bond(friends), 'Bee');
    expect(named.ok && named.facts).toMatchObject([
      { userId: A, relation: { type: FRIEND, nickname: 'Bee' } },
    ]);
    expect(nameFriend(bond([]), 'Bee').ok).toBe(false);
  });
});

describe('a block', () => {
  const all = [
    relation(A, B, FRIEND),
    relation(B, A, FRIEND),
    relation(A, B, FRIEND, GAME),
    relation(B, A, FRIEND, GAME),
  ];

  it('ends everything else, in games too', () => {
    expect(after(block, all)).toEqual([`1 2  ${BLOCKED}`]);
  });

  it('is not removed by the blocked person, who may block in return', () => {
    expect(after(block, [relation(B, A, BLOCKED)])).toEqual([`1 2  ${BLOCKED}`, `2 1  ${BLOCKED}`]);
    expect(after(removeRelation, [relation(B, A, BLOCKED)])).toEqual([`2 1  ${BLOCKED}`]);
    const both = [relation(A, B, BLOCKED), relation(B, A, BLOCKED)];
    expect(after(removeRelation, both)).toEqual([`2 1  ${BLOCKED}`]);
  });
});

describe('taking over the relations of another account', () => {
  const move = (relations: readonly StoredRelation[], copies = false) => {
    const [from, to] = [A, B];
    const facts = takeOverRelations({ from, to, peerId: C, relations, takes: () => true, copies });
    return happened(relations, facts)
      .map(({ userId, peerId, type }) => `${userId}${peerId}:${type}`)
      .sort();
  };

  it('gives everything to the other account', () => {
    expect(move([relation(A, C, FRIEND), relation(C, A, FRIEND)])).toEqual(['23:1', '32:1']);
    expect(move([relation(A, C, OUTGOING), relation(C, A, INCOMING)])).toEqual(['23:4', '32:3']);
    expect(move([relation(C, A, BLOCKED)])).toEqual(['32:2']);
  });

  it('merges the relations of both accounts: friendship replaces requests, and a block replaces all', () => {
    const asked = [relation(B, C, INCOMING), relation(C, B, OUTGOING)];
    expect(move([relation(A, C, OUTGOING), relation(C, A, INCOMING), ...asked])).toEqual(['23:1', '32:1']);
    const friends = [relation(B, C, FRIEND), relation(C, B, FRIEND)];
    expect(move([relation(A, C, OUTGOING), relation(C, A, INCOMING), ...friends])).toEqual(['23:1', '32:1']);
    expect(move([relation(C, A, BLOCKED), ...friends])).toEqual(['32:2']);
    expect(move([relation(A, C, FRIEND), relation(C, A, FRIEND), relation(B, C, BLOCKED)])).toEqual(['23:2']);
  });

  it('keeps the relations of the first account when it copies them', () => {
    expect(move([relation(A, C, FRIEND), relation(C, A, FRIEND)], true)).toEqual([
      '13:1',
      '23:1',
      '31:1',
      '32:1',
    ]);
  });

  it('removes the relation between the two accounts', () => {
    const relations = [relation(A, B, FRIEND), relation(B, A, FRIEND)];
    const given = { from: A, to: B, peerId: B, relations, takes: () => true, copies: false };
    expect(happened(relations, takeOverRelations(given))).toEqual([]);
  });
});

/** Both sides fit when one mirrors the other, or a block stands alone or against a block. */
function fits(relations: readonly StoredRelation[], a: UserId, b: UserId): boolean {
  const mirror: Record<number, number> = { [FRIEND]: FRIEND, [INCOMING]: OUTGOING, [OUTGOING]: INCOMING };
  const blocked = relations.some(({ type }) => type === BLOCKED);
  return [null, GAME].every((kind) => {
    const of = (userId: UserId) => relationOf(relations, userId, kind)?.type;
    const [own, peer] = [of(a), of(b)];
    if (blocked)
      return kind !== null ? !own && !peer : [own, peer].every((type) => !type || type === BLOCKED);
    return own === undefined ? peer === undefined : mirror[own] === peer;
  });
}

it('keeps both sides of every relation consistent, after any commands of the two users', () => {
  const rules: Record<string, Rule> = { ask, block, remove: removeRelation };
  const step = fc.record({
    rule: fc.constantFrom(...Object.keys(rules)),
    by: fc.constantFrom(A, B),
    in: fc.constantFrom(null, GAME),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let relations: StoredRelation[] = [];
      for (const { rule, ...given } of steps) {
        const outcome = rules[rule]!(bond(relations, given));
        if (outcome.ok) relations = happened(relations, outcome.facts);
        expect(fits(relations, A, B)).toBe(true);
      }
    }),
  );
});

it('keeps both sides consistent when any two accounts are merged, and is idempotent', () => {
  const kinds = [null, GAME] as const;
  const pair = (a: UserId, b: UserId) =>
    fc.tuple(...kinds.map(() => fc.constantFrom(0, 1, 2, 3, 4, 5))).map(([platform = 0, game = 0]) => {
      const sides: Record<number, [(RelationType | undefined)?, (RelationType | undefined)?]> = {
        0: [],
        1: [FRIEND, FRIEND],
        2: [OUTGOING, INCOMING],
        3: [INCOMING, OUTGOING],
        4: [BLOCKED],
        5: [undefined, BLOCKED],
      };
      const of = (shape: number, kind: ApplicationId | null) => {
        const [own, peer] = sides[shape] ?? [];
        return [...(own ? [relation(a, b, own, kind)] : []), ...(peer ? [relation(b, a, peer, kind)] : [])];
      };
      return platform >= 4 ? of(platform, null) : [...of(platform, null), ...of(game % 4, GAME)];
    });
  fc.assert(
    fc.property(pair(A, C), pair(B, C), (first, second) => {
      const run = (relations: readonly StoredRelation[]) => {
        const given = { from: A, to: B, peerId: C, relations, takes: () => true, copies: false };
        return happened(relations, takeOverRelations(given));
      };
      const once = run([...first, ...second]);
      expect(once.some(({ userId, peerId }) => userId === A || peerId === A)).toBe(false);
      expect(fits(once, B, C)).toBe(true);
      expect(run(once)).toEqual(once);
    }),
  );
});
