import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import { ALL_SESSIONS, applicationSessions, type SessionFilter } from '../../engine/fanout/direct.ts';
import { RELATION, type StoredRelation } from '../../engine/social/facts.ts';
import { presenceObject } from '../../engine/social/payloads.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { type FriendCache, isFriend } from './friendcache.ts';
import type { Relationships, Social, SocialOpening } from './ports.ts';

interface FriendPorts {
  readonly friendCache: FriendCache;
  readonly relationships: () => Pick<Relationships, 'list' | 'listOfGame'>;
  readonly notifier: Pick<Notifier, 'notify' | 'notifyEach' | 'presencesOf'>;
  readonly onFault: (error: unknown) => void;
}

const NOTHING: SocialOpening = { relationships: [], gameRelationships: [], presences: [] };

/** Shows friends to each other: relationships and presences. */
export function createFriends(ports: FriendPorts): Pick<Social, 'opened' | 'presented'> & {
  /** Sends a new friend's presence to a user. */
  introduce(userId: UserId, friendId: UserId, applicationId: ApplicationId | null): Promise<void>;
} {
  const { friendCache, notifier } = ports;
  // Presences of one user are sent in order, so that the last one sent is the current one.
  const mutex = keyedMutex<UserId>();

  return {
    async opened(session) {
      if (session.bot) return NOTHING;
      const userId = session.userId;
      const authorization = session.authorization ?? null;
      const applicationId = authorization?.applicationId ?? null;
      const sees = authorization === null || authorization.scopes.has('relationships.read');
      const by = { userId, authorization };
      const [relationships, gameRelationships, relations] = await Promise.all([
        sees ? ports.relationships().list(by) : [],
        sees && applicationId !== null ? ports.relationships().listOfGame(by, applicationId) : [],
        friendCache.of(userId),
      ]);
      const presences = mayReceivePresences(session)
        ? await presencesOf(relations, applicationId, ports)
        : [];
      return { relationships, gameRelationships, presences };
    },

    async introduce(userId, friendId, applicationId) {
      const presence = (await notifier.presencesOf([friendId])).get(friendId);
      if (!presence) return;
      const filter = applicationId === null ? ALL_SESSIONS : applicationSessions(applicationId);
      notifier.notify(userId, 'PRESENCE_UPDATE', presenceObject(friendId, presence), filter);
    },

    presented(userId, presence) {
      mutex(userId, async () => {
        const kinds = new Map<UserId, Set<ApplicationId | null>>();
        for (const { peerId, applicationId, type } of await friendCache.of(userId)) {
          if (type !== RELATION.FRIEND) continue;
          kinds.set(peerId, (kinds.get(peerId) ?? new Set()).add(applicationId));
        }
        const friends = [...kinds].map(([peerId, kind]) => [peerId, earsOfFriend(kind)] as const);
        notifier.notifyEach(friends, 'PRESENCE_UPDATE', presenceObject(userId, presence));
      }).catch(ports.onFault);
    },
  };
}

/**
 * Platform friends see each other in every session, friends of games in sessions of those games. Bots have no friends.
 */
const earsOfFriend = (kind: ReadonlySet<ApplicationId | null>): SessionFilter =>
  kind.has(null)
    ? { own: true, bot: false, applications: 'all' }
    : { own: false, applications: [...kind].filter((id) => id !== null) };

/** Applies the rule of the DISPATCH table for presence updates to READY, regardless of intents. */
const mayReceivePresences = ({ authorization }: Recipient): boolean =>
  !authorization || authorization.scopes.has('activities.read') || authorization.scopes.has('presences.read');

async function presencesOf(
  relations: readonly StoredRelation[],
  applicationId: ApplicationId | null,
  { notifier }: FriendPorts,
): Promise<readonly object[]> {
  const friendIds = new Set(
    relations.filter((one) => isFriend(one, applicationId)).map(({ peerId }) => peerId),
  );
  const presences = await notifier.presencesOf([...friendIds]);
  return [...friendIds].flatMap((friendId) => {
    const presence = presences.get(friendId);
    return presence ? [presenceObject(friendId, presence)] : [];
  });
}
