import { keysOf } from '../../protocol/present.ts';
import { RelationshipGroupType, RelationshipType } from '../enums.ts';
import type { Json } from '../voice/wire.ts';
import { byId, idOf, jsonOf, listOf, numberOf, textOf } from './read.ts';
import {
  KEPT,
  type Notice,
  type PresenceRecord,
  type RelationshipRecord,
  type State,
  type UserRecord,
} from './store.ts';

/**
 * @source https://docs.discord.food/resources/user#user-flags; users without an account of their own carry this flag
 */
const PROVISIONAL_FLAG = 1 << 23;

/** @returns whether the user changed; partial objects change only the fields they contain. */
export function keepUser(state: State, d: Json): boolean {
  const id = idOf(d, 'id');
  if (id === null) return false;
  const before = state.users.get(id);
  // A presence may contain only the id of its user.
  if (textOf(d, 'username') === null && before === undefined) return false;
  const flags = numberOf(d, 'public_flags') ?? numberOf(d, 'flags');
  const user: UserRecord = {
    id,
    username: textOf(d, 'username') ?? before?.username ?? '',
    globalName: 'global_name' in d ? textOf(d, 'global_name') : (before?.globalName ?? null),
    avatar: 'avatar' in d ? textOf(d, 'avatar') : (before?.avatar ?? null),
    provisional:
      d.provisional === true ||
      (flags === null ? (before?.provisional ?? false) : (flags & PROVISIONAL_FLAG) !== 0),
  };
  state.users.set(id, user);
  if (state.users.size > KEPT.users_max) removeUnreferenced(state);
  return before !== undefined && keysOf(user).some((key) => user[key] !== before[key]);
}

/** Removes users without other references. */
function removeUnreferenced(state: State): void {
  const wanted = new Set<string | null>([state.meId, ...state.relationships.keys()]);
  for (const { members } of state.lobbies.values()) for (const id of members.keys()) wanted.add(id);
  for (const { recipientIds } of state.channels.values()) for (const id of recipientIds) wanted.add(id);
  for (const id of state.users.keys()) {
    if (state.users.size <= KEPT.users_max / 2) break;
    if (wanted.has(id)) continue;
    state.users.delete(id);
    state.presences.delete(id);
  }
}

const presenceOf = (d: Json): PresenceRecord => ({
  status: textOf(d, 'status') ?? 'offline',
  activities: listOf(d, 'activities'),
});

/** The activity of this game, or of one by the same publisher. */
export function gameActivityOf(state: State, userId: string): Json | null {
  const applicationId = state.applicationId();
  const activities = state.presences.get(userId)?.activities ?? [];
  const isOurs = (activity: Json) =>
    applicationId !== null &&
    (activity.application_id === applicationId || activity.parent_application_id === applicationId);
  return activities.find(isOurs) ?? null;
}

export function groupOf(state: State, userId: string): RelationshipGroupType {
  const status = state.presences.get(userId)?.status ?? 'offline';
  if (status === 'offline' || status === 'invisible') return RelationshipGroupType.Offline;
  return gameActivityOf(state, userId) === null
    ? RelationshipGroupType.OnlineElsewhere
    : RelationshipGroupType.OnlinePlayingGame;
}

export const isFriend = ({ platform, game }: RelationshipRecord): boolean =>
  platform === RelationshipType.Friend || game === RelationshipType.Friend;

export const relationshipWith = (state: State, userId: string): RelationshipRecord =>
  state.relationships.get(userId) ?? {
    userId,
    platform: RelationshipType.None,
    game: RelationshipType.None,
    isSpamRequest: false,
  };

function relate(state: State, d: Json, kind: 'platform' | 'game'): Notice[] {
  const user = jsonOf(d, 'user');
  if (user !== null) keepUser(state, user);
  // Both kinds contain the other user's id as `id`; `user_id` is the current user's.
  const userId = (user && idOf(user, 'id')) ?? idOf(d, 'id');
  const type = numberOf(d, 'type');
  if (userId === null || type === null) return [];
  const known = new Set<number>(Object.values(RelationshipType));
  const before = relationshipWith(state, userId);
  const now = { ...before, [kind]: known.has(type) ? type : RelationshipType.None };
  const isSpamRequest = kind === 'platform' ? d.is_spam_request === true : before.isSpamRequest;
  state.relationships.set(userId, { ...now, isSpamRequest });
  if (before[kind] === now[kind]) return [];
  return [
    { type: 'relationshipCreated', userId, isPlatform: kind === 'platform' },
    ...(isFriend(before) === isFriend(now) ? [] : [{ type: 'relationshipGroupsUpdated', userId } as const]),
  ];
}

function unrelate(state: State, d: Json, kind: 'platform' | 'game'): Notice[] {
  const userId = idOf(d, 'id');
  const before = userId === null ? undefined : state.relationships.get(userId);
  if (userId === null || before === undefined || before[kind] === RelationshipType.None) return [];
  const now = { ...before, [kind]: RelationshipType.None };
  if (now.platform === RelationshipType.None && now.game === RelationshipType.None)
    state.relationships.delete(userId);
  else state.relationships.set(userId, now);
  return [
    { type: 'relationshipDeleted', userId, isPlatform: kind === 'platform' },
    ...(isFriend(before) && !isFriend(now) ? [{ type: 'relationshipGroupsUpdated', userId } as const] : []),
  ];
}

function presence(state: State, d: Json): Notice[] {
  const user = jsonOf(d, 'user');
  const userId = (user && idOf(user, 'id')) ?? idOf(d, 'user_id');
  if (userId === null) return [];
  const changed = user !== null && keepUser(state, user);
  const before = groupOf(state, userId);
  const record = presenceOf(d);
  const was = state.presences.get(userId);
  if (record.status === 'offline') state.presences.delete(userId);
  else state.presences.set(userId, record);
  const shows =
    changed || was?.status !== record.status || record.activities.length > 0 || was.activities.length > 0;
  const related = state.relationships.get(userId);
  return [
    ...(shows ? [{ type: 'userUpdated', userId } as const] : []),
    ...(related !== undefined && isFriend(related) && before !== groupOf(state, userId)
      ? [{ type: 'relationshipGroupsUpdated', userId } as const]
      : []),
    ...invitesAfter(state, userId),
  ];
}

/** Invalidates invites whose sender left the party. */
function invitesAfter(state: State, userId: string): Notice[] {
  const notices: Notice[] = [];
  for (const [key, invite] of state.invites) {
    if (invite.senderId !== userId || !invite.isValid) continue;
    const parties = (state.presences.get(userId)?.activities ?? []).map((each) => jsonOf(each, 'party')?.id);
    if (parties.includes(invite.partyId)) continue;
    const ended = { ...invite, isValid: false };
    state.invites.set(key, ended);
    notices.push({ type: 'activityInviteUpdated', invite: ended });
  }
  return notices;
}

function profilesOf(entries: readonly Json[]) {
  return entries.map((profile) => {
    const external = jsonOf(profile, 'external_id') ?? profile;
    const metadata = profile.metadata;
    return {
      username: textOf(profile, 'username') ?? '',
      metadata: typeof metadata === 'string' ? metadata : metadata == null ? '' : JSON.stringify(metadata),
      avatarHash: textOf(profile, 'avatar_hash') ?? '',
      providerType: textOf(external, 'provider_type') ?? '',
      providerId: textOf(external, 'provider_id'),
      providerIssuedUserId: textOf(external, 'provider_issued_user_id') ?? '',
    };
  });
}

function profiles(state: State, d: Json): Notice[] {
  const userId = idOf(d, 'user_id');
  if (userId === null) return [];
  const given = listOf(d, 'identities');
  state.profiles.set(userId, profilesOf(given.length > 0 ? given : [jsonOf(d, 'profile') ?? d]));
  return [{ type: 'userUpdated', userId }];
}

/** Applies the users of READY; earlier state belongs to another session. */
export function peopleReady(state: State, d: Json): Notice[] {
  const me = jsonOf(d, 'user');
  state.meId = me && idOf(me, 'id');
  const before = new Map(state.relationships);
  for (const map of [state.relationships, state.presences, state.profiles]) map.clear();
  for (const user of [...(me ? [me] : []), ...listOf(d, 'users')]) keepUser(state, user);
  for (const entry of listOf(d, 'relationships')) relate(state, entry, 'platform');
  for (const entry of listOf(d, 'game_relationships')) relate(state, entry, 'game');
  for (const entry of listOf(d, 'presences')) presence(state, entry);
  for (const [userId, entries] of Object.entries(jsonOf(d, 'user_application_profiles') ?? {}))
    state.profiles.set(userId, profilesOf(Array.isArray(entries) ? (entries as Json[]) : []));
  return difference(before, state.relationships);
}

function difference(
  before: ReadonlyMap<string, RelationshipRecord>,
  after: ReadonlyMap<string, RelationshipRecord>,
): Notice[] {
  const userIds = [...new Set([...before.keys(), ...after.keys()])].sort(byId);
  return userIds.flatMap((userId) =>
    (['platform', 'game'] as const).flatMap((kind): Notice[] => {
      const was = before.get(userId)?.[kind] ?? RelationshipType.None;
      const is = after.get(userId)?.[kind] ?? RelationshipType.None;
      if (was === is) return [];
      const type = is === RelationshipType.None ? 'relationshipDeleted' : 'relationshipCreated';
      return [{ type, userId, isPlatform: kind === 'platform' }];
    }),
  );
}

export const people = {
  USER_UPDATE: (state: State, d: Json): Notice[] =>
    keepUser(state, d) ? [{ type: 'userUpdated', userId: String(d.id) }] : [],
  PRESENCE_UPDATE: presence,
  RELATIONSHIP_ADD: (state: State, d: Json) => relate(state, d, 'platform'),
  RELATIONSHIP_UPDATE: (state: State, d: Json) => relate(state, d, 'platform'),
  RELATIONSHIP_REMOVE: (state: State, d: Json) => unrelate(state, d, 'platform'),
  GAME_RELATIONSHIP_ADD: (state: State, d: Json) => relate(state, d, 'game'),
  GAME_RELATIONSHIP_REMOVE: (state: State, d: Json) => unrelate(state, d, 'game'),
  USER_APPLICATION_IDENTITY_UPDATE: profiles,
  USER_APPLICATION_IDENTITY_REMOVE(state: State, d: Json): Notice[] {
    const userId = idOf(d, 'user_id');
    return userId !== null && state.profiles.delete(userId) ? [{ type: 'userUpdated', userId }] : [];
  },
};
