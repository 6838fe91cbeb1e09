import type { Routing } from '../../actors/placement/routing.ts';
import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { CommitAndNotify, DirectDispatch } from '../../actors/user/notifier.ts';
import { applicationSessions, OWN_SESSIONS, type SessionFilter } from '../../engine/fanout/direct.ts';
import type { Outcome, Reply } from '../../engine/kernel/aggregate.ts';
import { RELATION, type RelationChanged, type StoredRelation } from '../../engine/social/facts.ts';
import {
  gameRelationshipObject,
  relationshipObject,
  relationTold,
  type SideDispatch,
} from '../../engine/social/payloads.ts';
import {
  blockPeer,
  type CountedBond,
  nameFriend,
  removeRelation,
  requestFriendship,
  takeOverRelations,
} from '../../engine/social/relationships.ts';
import { type ApplicationId, compareIds, type FreshId, type UserId, userPair } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { Mergeable } from '../players/ports.ts';
import type { FriendCache } from './friendcache.ts';
import type { Relationships } from './ports.ts';
import { createUserLocks } from './userlocks.ts';

type Merging = Pick<Mergeable, 'merge' | 'unmerge'>;

export interface RelationshipPorts {
  readonly relationships: RelationshipStore;
  readonly users: Pick<UserStore, 'get' | 'peopleNamed'>;
  readonly friendCache: FriendCache;
  readonly tap: Tap;
  readonly commitAndNotify: CommitAndNotify;
  readonly routing: Routing;
  readonly wheel: Wheel;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
  /** Whether the user has authorized the application. */
  readonly hasAuthorized: (userId: UserId, applicationId: ApplicationId) => Promise<boolean>;
  /** Called for a new friendship, of the platform (null) or one game: sends the friend's presence to the user. */
  readonly introduce: (
    userId: UserId,
    friendId: UserId,
    applicationId: ApplicationId | null,
  ) => Promise<void>;
  /**
   * Called when relations of two users changed and are durable; their private channel is up to date when it resolves.
   */
  readonly relationsChanged: (a: UserId, b: UserId) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

type Verdict = Outcome<null, RelationChanged>;

/**
 * Changes relations between two users. Both sides are one commit of the lower id. The users of a change are locked over all shards,
 * so that limits are exact.
 */
export function createRelationships(ports: RelationshipPorts): Relationships & Merging {
  const holding = createUserLocks(ports);
  const { settle, commitFacts } = committing(ports);

  const loadBond = async (by: UserId, peerId: UserId, applicationId: ApplicationId | null) => {
    const [relations, own, peer] = await Promise.all([
      ports.relationships.among([by, peerId]),
      ports.relationships.counts(by, applicationId),
      ports.relationships.counts(peerId, applicationId),
    ]);
    return { userId: by, peerId, applicationId, relations, counts: { own, peer } };
  };

  const decideChange = async (
    by: UserId,
    peerId: UserId,
    applicationId: ApplicationId | null,
    wish: RelationChange,
  ): Promise<Reply<null>> => {
    const bond = await loadBond(by, peerId, applicationId);
    const verdict = verdictOn(bond, wish, ports.nowMs());
    if (!verdict.ok) return verdict;
    // A repeated request: the first one may have failed before both users were notified.
    if (verdict.facts.length === 0) await settle([[by, peerId]]);
    else await commitFacts(lowerId(by, peerId), verdict.facts, bond.relations);
    return { ok: true, value: null };
  };

  const owners = {
    change: ports.routing.ask(
      'relationships.change',
      (lower: UserId, ...[by, peerId, ...rest]: Parameters<Change>): Promise<Reply<null>> =>
        holding(lower, [by, peerId], () => decideChange(by, peerId, ...rest)),
    ),
    takeOver: ports.routing.ask(
      'relationships.takeOver',
      (lower: UserId, move: Takeover): Promise<void> =>
        holding(lower, [move.from, move.to, move.peerId], () =>
          takeOverRelationsOf(move, ports, (...change) => commitFacts(lower, ...change)),
        ),
    ),
  };
  const change: Change = (by, peerId, ...rest) => owners.change(lowerId(by, peerId), by, peerId, ...rest);

  return {
    ...listOperations(ports),
    ...requestOperations(ports, change),

    async block({ userId }, peerId) {
      const [peer] = await ports.users.get([peerId]);
      return peer ? change(userId, peerId, null, { kind: 'block' }) : failure(refusal('UNKNOWN_USER'));
    },

    remove: ({ userId }, peerId, applicationId) => change(userId, peerId, applicationId, { kind: 'remove' }),

    rename: ({ userId }, peerId, nickname) => change(userId, peerId, null, { kind: 'rename', nickname }),

    ...merging(ports, (move) => owners.takeOver(lowerId(move.to, move.peerId), move)),
  };
}

/** Commits changes and notifies everyone who depends on them. */
function committing(ports: RelationshipPorts) {
  /** Invalidates cached relations wherever they are kept, before a reply is sent. */
  async function invalidate(pairs: readonly (readonly [UserId, UserId])[]): Promise<void> {
    const userIds = [...new Set(pairs.flat())];
    await Promise.all(userIds.map((userId) => ports.friendCache.forget(userId)));
    await Promise.all(pairs.map(([a, b]) => ports.relationsChanged(a, b)));
  }

  /** Commits the facts at the owner of `ownerId`, which runs this, then notifies both users. */
  async function commitAndNotify(
    ownerId: UserId,
    facts: readonly RelationChanged[],
    before: readonly StoredRelation[],
  ): Promise<void> {
    if (facts.length === 0) return;
    const userIds = [...new Set(facts.flatMap(({ userId, peerId }) => [userId, peerId]))];
    const users = new Map((await ports.users.get(userIds)).map((user) => [user.id, user]));
    const notices = facts.map((fact) =>
      noticeOf(fact, relationBefore(fact, before), users.get(fact.peerId) ?? null),
    );
    const notifications = notices.flatMap((each) => each.notifications);
    const notifyOthers = await ports.commitAndNotify(ownerId, facts, notifications);
    const settled = await invalidate(pairsOf(facts)).then(
      () => null,
      (fault: unknown) => ({ fault }),
    );
    for (const { userId, shown } of notices) if (shown) ports.tap.see(shown.t, shown.d, userId);
    notifyOthers();
    for (const { userId, peerId, applicationId } of facts.filter((fact) => isNewFriend(fact, before)))
      await ports.introduce(userId, peerId, applicationId);
    // The change is stored, but the caller must retry: a blocked user may still be delivered to.
    if (settled) throw settled.fault;
  }

  return { settle: invalidate, commitFacts: commitAndNotify };
}

/** A requested change of a relation. */
type RelationChange =
  | { readonly kind: 'request' | 'block' | 'remove' }
  | { readonly kind: 'rename'; readonly nickname: string | null };

function verdictOn(bond: CountedBond, wish: RelationChange, nowMs: number): Verdict {
  if (wish.kind === 'rename') return nameFriend(bond, wish.nickname);
  if (wish.kind === 'remove') return removeRelation(bond);
  return wish.kind === 'block' ? blockPeer(bond, { nowMs }) : requestFriendship(bond, { nowMs });
}

const lowerId = (a: UserId, b: UserId): UserId => (compareIds(a, b) < 0 ? a : b);

type Change = (
  by: UserId,
  peerId: UserId,
  applicationId: ApplicationId | null,
  wish: RelationChange,
) => Promise<Reply<null>>;

function requestOperations(
  { users, hasAuthorized }: RelationshipPorts,
  change: Change,
): Pick<Relationships, 'request' | 'requestNamed'> {
  const request: Relationships['request'] = async ({ userId }, peerId, applicationId) => {
    const [peer] = await users.get([peerId]);
    const isOpen =
      peer && !peer.bot && (applicationId === null || (await hasAuthorized(peerId, applicationId)));
    if (!isOpen) return failure(refusal('UNKNOWN_USER'));
    return change(userId, peerId, applicationId, { kind: 'request' });
  };
  return {
    request,
    async requestNamed(by, username, applicationId) {
      const [peer, another] = await users.peopleNamed(username);
      const unknownName = failure(refusal('NO_USERS_WITH_TAG'));
      if (!peer || another) return unknownName;
      const reply = await request(by, peer.id, applicationId);
      // By name, an unknown user and one who cannot be reached get the same refusal.
      return !reply.ok && reply.refusal.code === refusal('UNKNOWN_USER').code ? unknownName : reply;
    },
  };
}

const failure = (no: Refusal): Reply<never> => ({ ok: false, refusal: no });

const isNewFriend = (fact: RelationChanged, before: readonly StoredRelation[]): boolean =>
  fact.relation?.type === RELATION.FRIEND && relationBefore(fact, before)?.type !== RELATION.FRIEND;

const relationBefore = (
  { userId, peerId, applicationId }: RelationChanged,
  relations: readonly StoredRelation[],
): StoredRelation | null =>
  relations.find(
    (one) => one.userId === userId && one.peerId === peerId && one.applicationId === applicationId,
  ) ?? null;

interface Notice {
  readonly userId: UserId;
  /** The dispatch that the embedding program observes. */
  readonly shown: SideDispatch | undefined;
  readonly notifications: readonly DirectDispatch[];
}

/** Dispatches of a change to one of the two users. */
function noticeOf(fact: RelationChanged, before: StoredRelation | null, peer: APIUser | null): Notice {
  const { userId, applicationId } = fact;
  const { own, friends, game } = relationTold(fact, before, peer);
  const notify = (what: SideDispatch | undefined, filter: SessionFilter): DirectDispatch[] =>
    what ? [{ userIds: [userId], filter, ...what }] : [];
  return {
    userId,
    shown: own ?? game,
    notifications: [
      ...notify(own, OWN_SESSIONS),
      ...notify(friends, { own: false, applications: 'all' }),
      ...(applicationId === null ? [] : notify(game, applicationSessions(applicationId))),
    ],
  };
}

/** Each pair of users in the facts, once. */
const pairsOf = (facts: readonly RelationChanged[]): (readonly [UserId, UserId])[] => [
  ...new Map(
    facts.map(({ userId, peerId }) => {
      const pair = userPair(userId, peerId);
      return [pair.join(), pair] as const;
    }),
  ).values(),
];

/** Lists relationships of a user, for the user or an acting application. */
function listOperations({
  friendCache,
  users,
}: RelationshipPorts): Pick<Relationships, 'list' | 'listOfGame'> {
  async function withPeers(
    relations: readonly StoredRelation[],
    show: (peer: APIUser, relation: StoredRelation) => object,
  ): Promise<readonly object[]> {
    if (relations.length === 0) return [];
    const peers = await users.get(relations.map(({ peerId }) => peerId));
    const byId = new Map(peers.map((user) => [user.id, user]));
    return relations.flatMap((relation) => {
      const peer = byId.get(relation.peerId);
      return peer ? [show(peer, relation)] : [];
    });
  }
  return {
    async list({ userId, authorization }) {
      const relations = (await friendCache.of(userId)).filter(
        ({ applicationId, type }) =>
          applicationId === null && (authorization === null || type === RELATION.FRIEND),
      );
      return withPeers(relations, relationshipObject);
    },
    async listOfGame({ userId }, applicationId) {
      const relations = (await friendCache.of(userId)).filter((one) => one.applicationId === applicationId);
      return withPeers(relations, (peer, relation) =>
        gameRelationshipObject(userId, applicationId, peer, relation),
      );
    },
  };
}

/** The relations of one user with a peer, to move or copy to another account. */
interface Takeover {
  readonly from: UserId;
  readonly to: UserId;
  readonly peerId: UserId;
  /** Null moves all relations away from `from`; else copies those that concern this game. */
  readonly copyOf: ApplicationId | null;
}

/**
 * Moves relations of merged or unmerged accounts peer by peer, so that a crash in between leaves each pair consistent.
 */
function merging({ relationships }: RelationshipPorts, takeOver: (move: Takeover) => Promise<void>): Merging {
  async function move(from: UserId, to: UserId, copyOf: ApplicationId | null): Promise<void> {
    const peerIds = new Set([
      ...(await relationships.of(from)).map(({ peerId }) => peerId),
      ...(await relationships.towards(from)).map(({ userId }) => userId),
    ]);
    for (const peerId of peerIds) await takeOver({ from, to, peerId, copyOf });
  }
  return {
    merge: (from, to) => move(from, to, null),
    unmerge: (from, to, applicationId) => move(from, to, applicationId),
  };
}

async function takeOverRelationsOf(
  { from, to, peerId, copyOf }: Takeover,
  { relationships, hasAuthorized }: RelationshipPorts,
  commitFacts: (facts: readonly RelationChanged[], before: readonly StoredRelation[]) => Promise<void>,
): Promise<void> {
  /** Whether a relation is copied: friends in the game, friends who play it, and blocks by the peer. */
  async function copied({ userId, peerId: other, type, applicationId }: StoredRelation): Promise<boolean> {
    const peer = userId === from ? other : userId;
    if (applicationId !== null) return applicationId === copyOf && type === RELATION.FRIEND;
    if (type === RELATION.FRIEND) return copyOf !== null && hasAuthorized(peer, copyOf);
    return type === RELATION.BLOCKED && userId === peer;
  }
  const relations = await relationships.among([from, to, peerId]);
  const taken = new Set<StoredRelation>();
  for (const relation of relations) if (copyOf === null || (await copied(relation))) taken.add(relation);
  const takes = (relation: StoredRelation) => taken.has(relation);
  await commitFacts(
    takeOverRelations({ from, to, peerId, relations, takes, copies: copyOf !== null }),
    relations,
  );
}
