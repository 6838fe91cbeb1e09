import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import {
  RELATION,
  type Relation,
  type RelationChanged,
  type RelationType,
  type StoredRelation,
} from './facts.ts';

/**
 * Most relations of a kind that one user has.
 *
 * @source https://docs.discord.food/resources/relationships; the bounds of requests are ours
 */
export const RELATIONS_MAX: Readonly<Record<RelationType, number>> = {
  [RELATION.FRIEND]: 1_000,
  [RELATION.BLOCKED]: 5_000,
  [RELATION.INCOMING]: 1_000,
  [RELATION.OUTGOING]: 1_000,
};

/** Relations of each kind that a user has, on the platform or in one application. */
export type RelationCounts = Readonly<Partial<Record<RelationType, number>>>;

/** Everything between two users that a rule for one of them reads. */
interface Bond {
  readonly userId: UserId;
  readonly peerId: UserId;
  /** Every relation between the two, of both sides and of all kinds. */
  readonly relations: readonly StoredRelation[];
}

/** A bond with the counts that a new relation must fit into. */
export interface CountedBond extends Bond {
  /** The kind of the relation: null for the platform, else one application. */
  readonly applicationId: ApplicationId | null;
  readonly counts: { readonly own: RelationCounts; readonly peer: RelationCounts };
}

type Verdict = Outcome<null, RelationChanged>;

/** The relation from `userId` to the peer; null without one. */
export const relationOf = (
  relations: readonly StoredRelation[],
  userId: UserId,
  applicationId: ApplicationId | null,
): StoredRelation | null =>
  relations.find((one) => one.userId === userId && one.applicationId === applicationId) ?? null;

/** Whether `userId` has blocked the other. A block applies on the platform and in every application. */
export const hasBlocked = (relations: readonly StoredRelation[], userId: UserId): boolean =>
  relationOf(relations, userId, null)?.type === RELATION.BLOCKED;

/**
 * Asks for friendship, or accepts the peer's request. A repeated request, or one to a friend, changes nothing. A
 * blocked user gets the same refusal as for an account that does not exist.
 */
export function requestFriendship(bond: CountedBond, env: Pick<Env, 'nowMs'>): Verdict {
  const { userId, peerId, applicationId, relations, counts } = bond;
  if (userId === peerId) return refused(refusal('INVALID_RECIPIENTS'));
  if (hasBlocked(relations, peerId)) return refused(refusal('UNKNOWN_USER'));
  if (hasBlocked(relations, userId)) return refused(refusal('INVALID_RECIPIENTS'));
  const before = relationOf(relations, userId, applicationId)?.type;
  if (before === RELATION.FRIEND || before === RELATION.OUTGOING) return accepted(null);
  const accepts = before === RELATION.INCOMING;
  const own = accepts ? RELATION.FRIEND : RELATION.OUTGOING;
  const peer = accepts ? RELATION.FRIEND : RELATION.INCOMING;
  if (isFull(counts.own, own) || isFull(counts.peer, peer)) return refused(refusal('MAXIMUM_FRIENDS'));
  const origin = relationOf(relations, userId, applicationId)?.originApplicationId ?? applicationId;
  return accepted(null, [
    changed(bond, applicationId, newRelation(own, env.nowMs, origin)),
    changed(turned(bond), applicationId, newRelation(peer, env.nowMs, origin)),
  ]);
}

/** Blocks the peer, which ends every other relation, in every game too. The peer's own block stays. */
export function blockPeer(bond: CountedBond, env: Pick<Env, 'nowMs'>): Verdict {
  const { userId, peerId, relations, counts } = bond;
  if (userId === peerId) return refused(refusal('INVALID_RECIPIENTS'));
  if (hasBlocked(relations, userId)) return accepted(null);
  if (isFull(counts.own, RELATION.BLOCKED)) return refused(refusal('MAXIMUM_FRIENDS'));
  const ended = relations.filter(({ type, ...one }) => {
    if (type === RELATION.BLOCKED) return false;
    return one.userId === peerId || one.applicationId !== null;
  });
  return accepted(null, [
    changed(bond, null, newRelation(RELATION.BLOCKED, env.nowMs, null)),
    ...ended.map((one) => changed(one, one.applicationId, null)),
  ]);
}

/**
 * Ends a friendship, a request of either user, or the caller's own block. The peer's block stays. Without a relation
 * nothing changes.
 */
export function removeRelation(bond: Bond & Pick<CountedBond, 'applicationId'>): Verdict {
  const { userId, peerId, relations, applicationId } = bond;
  const own = relationOf(relations, userId, applicationId);
  if (!own) return accepted(null);
  const theirs = relationOf(relations, peerId, applicationId);
  const both = own.type !== RELATION.BLOCKED && theirs !== null && theirs.type !== RELATION.BLOCKED;
  return accepted(null, [
    changed(bond, applicationId, null),
    ...(both ? [changed(turned(bond), applicationId, null)] : []),
  ]);
}

/** Sets the nickname of a friend; null removes it. */
export function nameFriend(bond: Bond, nickname: string | null): Verdict {
  const own = relationOf(bond.relations, bond.userId, null);
  if (own?.type !== RELATION.FRIEND) return refused(refusal('UNKNOWN_USER'));
  if (own.nickname === nickname) return accepted(null);
  return accepted(null, [changed(bond, null, { ...partsOf(own), nickname })]);
}

/** Moves one user's relations with a peer to another user. */
interface TakeOver {
  readonly from: UserId;
  readonly to: UserId;
  readonly peerId: UserId;
  /** At least every relation between the peer and `from` or `to`. */
  readonly relations: readonly StoredRelation[];
  /** Selects the relations to take over, `from`'s own and the peer's towards `from`. */
  takes(relation: StoredRelation): boolean;
  /** True when `from` keeps its relations too. */
  readonly copies: boolean;
}

/**
 * The changes when `to` takes over the relations between `from` and a peer. Where `to` has relations with the peer
 * too, they are merged: a block on either side ends the rest, and requests in both directions become a friendship.
 * Bounds are not checked, so that no friend is lost. Repeating it changes nothing more.
 */
export function takeOverRelations(move: TakeOver): RelationChanged[] {
  const { from, to, peerId, relations } = move;
  const old = between(relations, from, peerId);
  const facts = move.copies ? [] : old.map((one) => changed(one, one.applicationId, null));
  if (peerId === to) return facts;
  const renamed = old
    .filter((one) => move.takes(one))
    .map((one) => (one.userId === from ? { ...one, userId: to } : { ...one, peerId: to }));
  const known = between(relations, to, peerId);
  const all = [...known, ...renamed];
  for (const applicationId of new Set(all.map((one) => one.applicationId))) {
    const of = (userId: UserId) =>
      all.filter((one) => one.userId === userId && one.applicationId === applicationId);
    const [own, peer] = joined(of(to), of(peerId), all);
    for (const [userId, next] of [
      [to, own],
      [peerId, peer],
    ] as const) {
      const before = relationOf(known, userId, applicationId);
      if ((before?.type ?? null) === (next?.type ?? null)) continue;
      facts.push(changed({ userId, peerId: userId === to ? peerId : to }, applicationId, next));
    }
  }
  return facts;
}

/** Merges relations of one kind when each user has several towards the other. */
function joined(
  own: readonly StoredRelation[],
  peer: readonly StoredRelation[],
  all: readonly StoredRelation[],
): readonly [Relation | null, Relation | null] {
  const as = (side: readonly StoredRelation[], type: RelationType): Relation | null => {
    const like = side.find((one) => one.type === type) ?? side[0];
    return like ? { ...partsOf(like), type } : null;
  };
  const has = (side: readonly StoredRelation[], type: RelationType) => side.some((one) => one.type === type);
  const { BLOCKED, FRIEND, OUTGOING, INCOMING } = RELATION;
  if (has(all, BLOCKED)) {
    return [has(own, BLOCKED) ? as(own, BLOCKED) : null, has(peer, BLOCKED) ? as(peer, BLOCKED) : null];
  }
  const friends = has(own, FRIEND) || (has(own, OUTGOING) && has(own, INCOMING));
  if (friends) return [as(own, FRIEND), as(peer, FRIEND)];
  return [own[0] ? partsOf(own[0]) : null, peer[0] ? partsOf(peer[0]) : null];
}

const between = (relations: readonly StoredRelation[], a: UserId, b: UserId): StoredRelation[] =>
  relations.filter(({ userId, peerId }) => (userId === a && peerId === b) || (userId === b && peerId === a));

const isFull = (counts: RelationCounts, type: RelationType): boolean =>
  (counts[type] ?? 0) >= RELATIONS_MAX[type];

const turned = ({ userId, peerId }: Pick<Bond, 'userId' | 'peerId'>) => ({ userId: peerId, peerId: userId });

const newRelation = (
  type: RelationType,
  sinceMs: number,
  originApplicationId: ApplicationId | null,
): Relation => ({ type, sinceMs, nickname: null, originApplicationId });

const partsOf = ({ type, sinceMs, nickname, originApplicationId }: Relation): Relation => ({
  type,
  sinceMs,
  nickname,
  originApplicationId,
});

const changed = (
  { userId, peerId }: Pick<Bond, 'userId' | 'peerId'>,
  applicationId: ApplicationId | null,
  relation: Relation | null,
): RelationChanged => ({ type: 'relationChanged', userId, peerId, applicationId, relation });
