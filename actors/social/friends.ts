import { directRecipients } from '../../engine/fanout/audience.ts';
import { DispatchBody, type Subscriber } from '../../engine/fanout/body.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import { RELATION, type StoredRelation } from '../../engine/social/facts.ts';
import { presenceObject } from '../../engine/social/payloads.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { inTurns } from '../runtime/turns.ts';
import { type Circle, isFriend } from './circle.ts';
import type { Relationships, Social, SocialOpening } from './ports.ts';

export interface FriendPorts {
  readonly circle: Circle;
  readonly relationships: () => Pick<Relationships, 'list' | 'listOfGame'>;
  readonly listeners: (userId: UserId) => readonly Subscriber[];
  /** How a user appears now; null: offline. */
  readonly presenceOf: (userId: UserId) => Presence | null;
  readonly monotonicMs: () => number;
  readonly onFault: (error: unknown) => void;
}

const NOTHING: SocialOpening = { relationships: [], gameRelationships: [], presences: [] };

/** What friends see of each other. */
export function createFriends(ports: FriendPorts): Pick<Social, 'opened' | 'presented'> & {
  /** Shows a user how a new friend appears. */
  introduce(userId: UserId, friendId: UserId, applicationId: ApplicationId | null): void;
} {
  const { circle } = ports;
  // One presence after the other, so that the last one told is the one that holds.
  const inTurn = inTurns<UserId>();

  return {
    async opened(session) {
      if (session.bot) return NOTHING;
      const userId = session.userId as UserId;
      const authorization = session.authorization ?? null;
      const applicationId = authorization?.applicationId ?? null;
      const sees = authorization === null || authorization.scopes.has('relationships.read');
      const by = { userId, authorization };
      const [relationships, gameRelationships, relations] = await Promise.all([
        sees ? ports.relationships().list(by) : [],
        sees && applicationId !== null ? ports.relationships().listOfGame(by, applicationId) : [],
        circle.of(userId),
      ]);
      const presences = mayHear(session) ? presencesOf(relations, applicationId, ports) : [];
      return { relationships, gameRelationships, presences };
    },

    introduce(userId, friendId, applicationId) {
      const presence = ports.presenceOf(friendId);
      if (!presence) return;
      const d = presenceObject(friendId, presence);
      const body = new DispatchBody('PRESENCE_UPDATE', d, ports.monotonicMs());
      for (const session of directRecipients(ports.listeners(userId), 'PRESENCE_UPDATE'))
        if (applicationId === null || session.authorization?.applicationId === applicationId)
          session.deliver(body);
    },

    presented(userId, presence) {
      inTurn(userId, async () => {
        const kinds = new Map<UserId, Set<ApplicationId | null>>();
        for (const { peerId, applicationId, type } of await circle.of(userId)) {
          if (type !== RELATION.FRIEND) continue;
          kinds.set(peerId, (kinds.get(peerId) ?? new Set()).add(applicationId));
        }
        const body = new DispatchBody(
          'PRESENCE_UPDATE',
          presenceObject(userId, presence),
          ports.monotonicMs(),
        );
        for (const [peerId, kind] of kinds)
          for (const session of directRecipients(ports.listeners(peerId), 'PRESENCE_UPDATE'))
            if (!session.bot && (kind.has(null) || kind.has(session.authorization?.applicationId ?? null)))
              session.deliver(body);
      }).catch(ports.onFault);
    },
  };
}

/** As the DISPATCH table says of later presences, whatever the intents: READY is asked for once. */
const mayHear = ({ authorization }: Subscriber): boolean =>
  !authorization || authorization.scopes.has('activities.read') || authorization.scopes.has('presences.read');

function presencesOf(
  relations: readonly StoredRelation[],
  applicationId: ApplicationId | null,
  { presenceOf }: FriendPorts,
): readonly object[] {
  const friendIds = new Set(
    relations.filter((one) => isFriend(one, applicationId)).map(({ peerId }) => peerId),
  );
  return [...friendIds].flatMap((friendId) => {
    const presence = presenceOf(friendId);
    return presence ? [presenceObject(friendId, presence)] : [];
  });
}
