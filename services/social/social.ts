import type { PublishPresence } from '../../actors/cluster/delivery/presences.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import type { Users } from '../../actors/user/users.ts';
import type { ApplicationId, FreshId, UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import { createActivities } from './activities.ts';
import { createDirectMessages } from './directmessages.ts';
import { createFriendCache } from './friendcache.ts';
import { createFriends } from './friends.ts';
import { createHeadlessSessions } from './headlesssessions.ts';
import { UnstoredInvites } from './invites.ts';
import { JoinSecrets, joinSecretLookup, recordActivities } from './joinsecrets.ts';
import { createShowInvite, type DirectMessagePorts } from './messagerules.ts';
import type { OpenChannel, Social } from './ports.ts';
import { createRelationships, type RelationshipPorts } from './relationships.ts';
import { createRoleConnections } from './roleconnections.ts';
import { createUserSettings } from './settings.ts';

interface SocialPorts
  extends Pick<DirectMessagePorts, 'inPrivate' | 'contactPolicy' | 'commit'>,
    Pick<RelationshipPorts, 'commitAndNotify' | 'tap'> {
  readonly storage: Storage;
  readonly users: Users;
  readonly notifier: Notifier;
  readonly routing: Routing;
  readonly openPrivate: OpenChannel;
  /** Private channels of two users, which a changed relationship or a merge of accounts updates. */
  readonly channels: {
    relationsChanged(a: UserId, b: UserId): Promise<void>;
    move(from: UserId, to: UserId): Promise<void>;
  };
  /** Sends the presence of a user of this shard to guilds. */
  readonly publishPresence: PublishPresence;
  /** Services that are available once the engine is assembled. */
  readonly features: () => {
    readonly provisional: Pick<DirectMessagePorts, 'related' | 'isProvisional'>;
    readonly oauth: { granted(userId: UserId, applicationId: ApplicationId): Promise<object | null> };
  };
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly wheel: Wheel;
  readonly nextId: () => FreshId;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly onFault: (error: unknown) => void;
}

/** Relationships and the features that depend on them. */
export function assembleSocial(ports: SocialPorts): Social {
  const { storage, channels, commit, routing, clock } = ports;
  const friendCache = createFriendCache(storage.relationships, routing);
  const joinSecrets = new JoinSecrets();
  const common = {
    ...ports,
    friendCache,
    joinSecrets: joinSecretLookup(joinSecrets, routing),
    unstoredInvites: new UnstoredInvites(),
    ...lookupsOf(ports),
  };
  const { introduce, ...friends } = createFriends({ ...common, relationships: () => relationships });
  const { merge, unmerge, ...relationships } = createRelationships({
    ...{ ...common, ...storage, users: storage.users, introduce },
    relationsChanged: channels.relationsChanged,
  });
  return {
    ...friends,
    relationships,
    messages: createDirectMessages({
      ...{ ...common, open: ports.openPrivate, showInvite: createShowInvite(common) },
      env: () => ({ nowMs: clock.now(), nextId: ports.nextId }),
    }),
    activities: {
      ...createActivities({ ...common, guildIds: (userId) => ports.notifier.guildIdsOf(userId) }),
      ...createHeadlessSessions({ ...common, joinSecrets, presenceChanged: appearing(ports, friends) }),
    },
    roleConnections: createRoleConnections({ ...storage, commit }),
    settings: createUserSettings({ ...storage, commit }),

    visibleActivities: recordActivities(joinSecrets, () => clock.now()),
    ended: ({ sessionId }) => joinSecrets.end(sessionId),

    blocks: (userId, other) => friendCache.blocks(userId, other),
    friends: (userId, other, applicationId) => friendCache.friends(userId, other, applicationId),
    merge: (from, to) => merge(from, to).then(() => channels.move(from, to)),
    unmerge,
    // Sessions of the game are not notified: they ended with its tokens.
    async forgetGame(applicationId) {
      await commit(applicationId, [{ type: 'gameRelationsForgotten', applicationId }]);
      friendCache.forgetAll();
    },
  };
}

/** Look-ups of users and applications for the parts, and the time. */
const lookupsOf = ({ users, clock, features }: SocialPorts) => ({
  listeners: (userId: UserId) => users.listeners(userId),
  nowMs: () => clock.now(),
  monotonicMs: () => clock.monotonic(),
  related: (a: ApplicationId, b: ApplicationId) => features().provisional.related(a, b),
  isProvisional: (userId: UserId) => features().provisional.isProvisional(userId),
  hasAuthorized: async (userId: UserId, applicationId: ApplicationId) =>
    (await features().oauth.granted(userId, applicationId)) !== null,
});

/** Sends the presence of a user without a session to guilds and friends. */
const appearing =
  ({ publishPresence, users }: SocialPorts, { presented }: Pick<Social, 'presented'>) =>
  (userId: UserId, presence: Parameters<Social['presented']>[1]): void => {
    publishPresence(userId, users.guildIds(userId), presence);
    presented(userId, presence);
  };
