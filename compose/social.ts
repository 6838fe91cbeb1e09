import { routed } from '../actors/cluster/routing/routed.ts';
import type { ApplicationId, UserId } from '../protocol/ids.ts';
import { channelsOfPairs } from '../services/privatechannels/pairs.ts';
import { SOCIAL_ROUTES } from '../services/routes.ts';
import { createActivities } from '../services/social/activities.ts';
import { createDirectMessages } from '../services/social/directmessages.ts';
import { createFriendCache } from '../services/social/friendcache.ts';
import { createFriends } from '../services/social/friends.ts';
import { createHeadlessSessions } from '../services/social/headlesssessions.ts';
import { UnstoredInvites } from '../services/social/invites.ts';
import { JoinSecrets, joinSecretLookup, recordActivities } from '../services/social/joinsecrets.ts';
import { createShowInvite } from '../services/social/messagerules.ts';
import type { Social } from '../services/social/ports.ts';
import { createRelationships } from '../services/social/relationships.ts';
import { createRoleConnections } from '../services/social/roleconnections.ts';
import { createUserSettings } from '../services/social/settings.ts';
import type { ServiceContext } from './context.ts';

/** Relationships between people and what hangs on them, over the actors and stores. */
export function createSocial(context: ServiceContext): Social {
  const { storage, users, clock, commit, wheel, randomBytes, routing, notifier } = context;
  const friendCache = createFriendCache(storage.relationships, routing);
  const joinSecrets = new JoinSecrets();
  const unstoredInvites = new UnstoredInvites();
  const channels = channelsOfPairs(context);
  const onFault = (error: unknown) => context.onFault(error, 'social');
  const common = {
    storage,
    friendCache,
    joinSecrets: joinSecretLookup(joinSecrets, routing),
    unstoredInvites,
    commit,
    notifier,
    routing,
    onFault,
    listeners: (userId: UserId) => users.listeners(userId),
    nowMs: () => clock.now(),
    monotonicMs: () => clock.monotonic(),
    related: (a: ApplicationId, b: ApplicationId) => context.features().provisional.related(a, b),
    hasAuthorized: async (userId: UserId, applicationId: ApplicationId) =>
      (await context.features().oauth.granted(userId, applicationId)) !== null,
  };
  const { introduce, ...friends } = createFriends({ ...common, relationships: () => relationships });
  const { merge, unmerge, ...relationships } = createRelationships({
    ...common,
    ...storage,
    commitAndNotify: context.commitAndNotify,
    introduce,
    tap: context.hooks.tap,
    relationsChanged: channels.relationsChanged,
  });

  const social: Social = {
    ...friends,
    relationships,
    messages: createDirectMessages({
      ...common,
      inPrivate: context.inPrivate,
      open: context.openPrivate,
      contactPolicy: context.config.direct_messages_from,
      showInvite: createShowInvite(common),
      env: () => ({ nowMs: clock.now(), nextId: context.nextId }),
      isProvisional: (userId) => context.features().provisional.isProvisional(userId),
    }),
    activities: {
      ...createActivities({ ...common, guildIds: (userId) => notifier.guildIdsOf(userId) }),
      ...createHeadlessSessions({
        ...{ ...common, joinSecrets, users, wheel, randomBytes },
        presenceChanged: appearing(context, friends),
      }),
    },
    roleConnections: createRoleConnections({ ...storage, commit }),
    settings: createUserSettings({ ...storage, commit }),

    acting: recordActivities(joinSecrets, () => clock.now()),
    ended: ({ sessionId }) => joinSecrets.end(sessionId),

    blocks: (userId, other) => friendCache.blocks(userId, other),
    friends: (userId, other, applicationId) => friendCache.friends(userId, other, applicationId),
    merge: (from, to) => merge(from, to).then(() => channels.move(from, to)),
    unmerge,
    // Sessions of the game are not told: they have ended with its tokens.
    async forgetGame(applicationId) {
      await commit(applicationId, [{ type: 'gameRelationsForgotten', applicationId }]);
      friendCache.forgetAll();
    },
  };
  return routed(social, SOCIAL_ROUTES, context.cluster);
}

/** Guilds and friends hear how somebody appears who has no session. */
const appearing =
  ({ publishPresence, users }: ServiceContext, { presented }: Pick<Social, 'presented'>) =>
  (userId: UserId, presence: Parameters<Social['presented']>[1]): void => {
    publishPresence(userId, users.guildIds(userId), presence);
    presented(userId, presence);
  };
