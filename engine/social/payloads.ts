import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { Presence } from '../presence/merge.ts';
import { RELATION, type Relation, type RelationChanged, type StoredRelation } from './facts.ts';

/**
 * A relationship as its owner sees it.
 *
 * @source https://docs.discord.food/resources/relationships#relationship-structure
 */
export function relationshipObject(peer: APIUser, relation: Relation): object {
  return {
    id: peer.id,
    type: relation.type,
    user: peer,
    nickname: relation.nickname,
    is_spam_request: false,
    stranger_request: false,
    user_ignored: false,
    origin_application_id: relation.originApplicationId,
    since: isoTimestamp(relation.sinceMs),
  };
}

/** A relationship in one game. The values of `dm_access_type` are not published; 0 stands for unknown. */
export function gameRelationshipObject(
  userId: UserId,
  applicationId: ApplicationId,
  peer: APIUser,
  relation: Relation,
): object {
  return {
    id: peer.id,
    application_id: applicationId,
    type: relation.type,
    user: peer,
    since: isoTimestamp(relation.sinceMs),
    dm_access_type: 0,
    user_id: userId,
  };
}

/** A friend's presence outside guilds; offline for null. */
export const presenceObject = (userId: UserId, presence: Presence | null): object => ({
  user: { id: userId },
  status: presence?.status ?? 'offline',
  activities: presence?.activities ?? [],
  client_status: presence?.client_status ?? {},
});

export interface SideDispatch {
  readonly t: DispatchName;
  readonly d: object;
}

/**
 * The dispatches of a change for the sessions of one user.
 *
 * @param before The relation before the change.
 * @param peer The other user; null for a deleted account, where only a removal is sent.
 * @returns `own` for the user's own clients; `friends` for applications, which receive changes of friendships only;
 *   `game` for the sessions of the relation's application.
 */
export function relationTold(
  { userId, peerId, applicationId, relation }: RelationChanged,
  before: StoredRelation | null,
  peer: APIUser | null,
): { readonly own?: SideDispatch; readonly friends?: SideDispatch; readonly game?: SideDispatch } {
  if (applicationId !== null) {
    if (relation && peer) {
      const d = gameRelationshipObject(userId, applicationId, peer, relation);
      return { game: { t: 'GAME_RELATIONSHIP_ADD', d } };
    }
    if (!before) return {};
    const d = { id: peerId, application_id: applicationId, type: before.type, user_id: userId };
    return { game: { t: 'GAME_RELATIONSHIP_REMOVE', d } };
  }
  const shown = relation && peer ? relationshipObject(peer, relation) : null;
  const gone = before && { id: peerId, type: before.type, nickname: before.nickname };
  const changeDispatch = (was: boolean, is: boolean): SideDispatch | null => {
    if (is && shown) return { t: was ? 'RELATIONSHIP_UPDATE' : 'RELATIONSHIP_ADD', d: shown };
    return was && gone ? { t: 'RELATIONSHIP_REMOVE', d: gone } : null;
  };
  const own = changeDispatch(relation !== null && before?.type === relation.type, relation !== null);
  const friends = changeDispatch(before?.type === RELATION.FRIEND, relation?.type === RELATION.FRIEND);
  const removed = relation === null && gone ? { t: 'RELATIONSHIP_REMOVE' as const, d: gone } : null;
  return { ...((own ?? removed) && { own: (own ?? removed) as SideDispatch }), ...(friends && { friends }) };
}
