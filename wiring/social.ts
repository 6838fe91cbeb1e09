import { routed } from '../actors/cluster/routing/routed.ts';
import { SYSTEM } from '../engine/kernel/authority.ts';
import { readActivities } from '../engine/presence/activities.ts';
import type { ApplicationId, UserId } from '../protocol/ids.ts';
import { SOCIAL_ROUTES } from '../services/routes.ts';
import { createActivities } from '../services/social/activities.ts';
import { createDirectMessages } from '../services/social/directmessages.ts';
import { createFriendCache } from '../services/social/friendcache.ts';
import { createFriends } from '../services/social/friends.ts';
import { createHeadlessSessions } from '../services/social/headlesssessions.ts';
import { UnstoredInvites } from '../services/social/invites.ts';
import { type JoinSecretLookup, JoinSecrets } from '../services/social/joinsecrets.ts';
import { createShowInvite } from '../services/social/messagerules.ts';
import type { Social } from '../services/social/ports.ts';
import { createRelationships } from '../services/social/relationships.ts';
import { createRoleConnections } from '../services/social/roleconnections.ts';
import { createUserSettings } from '../services/social/settings.ts';
import type { Site } from './site.ts';

/** Private channels of one account that move to another at most. */
const MOVED_CHANNELS_MAX = 10_000;

/** Relationships between people and what hangs on them, over the actors and stores. */
export function createSocial(site: Site): Social {
  const { storage, users, clock, commit, wheel, randomBytes, routing, telling } = site;
  const friendCache = createFriendCache(storage.relationships, routing);
  const joinSecrets = new JoinSecrets();
  const unstoredInvites = new UnstoredInvites();
  const onFault = (error: unknown) => site.onFault(error, 'social');
  const common = {
    storage,
    friendCache,
    joinSecrets: joinSecretsOf(joinSecrets, site),
    unstoredInvites,
    commit,
    telling,
    routing,
    onFault,
    listeners: (userId: UserId) => users.listeners(userId),
    nowMs: () => clock.now(),
    monotonicMs: () => clock.monotonic(),
    related: (a: ApplicationId, b: ApplicationId) => site.parts().provisional.related(a, b),
    hasAuthorized: async (userId: UserId, applicationId: ApplicationId) =>
      (await site.parts().oauth.granted(userId, applicationId)) !== null,
  };
  const { introduce, ...friends } = createFriends({ ...common, relationships: () => relationships });
  const { merge, unmerge, ...relationships } = createRelationships({
    ...common,
    ...storage,
    announce: site.announce,
    introduce,
    tap: site.hooks.tap,
    relationsChanged: (a, b) => tellChannel(site, a, b),
  });

  const social: Social = {
    ...friends,
    relationships,
    messages: createDirectMessages({
      ...common,
      inPrivate: site.inPrivate,
      open: site.openPrivate,
      contactPolicy: site.config.direct_messages_from,
      showInvite: createShowInvite(common),
      env: () => ({ nowMs: clock.now(), nextId: site.nextId }),
      isProvisional: (userId) => site.parts().provisional.isProvisional(userId),
    }),
    activities: {
      ...createActivities({ ...common, guildIds: (userId) => telling.guildIdsOf(userId) }),
      ...createHeadlessSessions({
        ...{ ...common, joinSecrets, users, wheel, randomBytes },
        presenceChanged: appearing(site, friends),
      }),
    },
    roleConnections: createRoleConnections({ ...storage, commit }),
    settings: createUserSettings({ ...storage, commit }),

    acting: recordActivities(joinSecrets, () => clock.now()),
    ended: ({ sessionId }) => joinSecrets.end(sessionId),

    blocks: (userId, other) => friendCache.blocks(userId, other),
    friends: (userId, other, applicationId) => friendCache.friends(userId, other, applicationId),
    merge: (from, to) => merge(from, to).then(() => moveChannels(site, from, to)),
    unmerge,
    // Sessions of the game are not told: they have ended with its tokens.
    async forgetGame(applicationId) {
      await commit(applicationId, [{ type: 'gameRelationsForgotten', applicationId }]);
      friendCache.forgetAll();
    },
  };
  return routed('social', social, SOCIAL_ROUTES, site.cluster);
}

/** What people let others join is known to the owner of who does it. */
const joinSecretsOf = (joinSecrets: JoinSecrets, { routing }: Site): JoinSecretLookup => ({
  of: (userId, sessionId) => joinSecrets.of(userId, sessionId),
  ...routing.asks(
    'acting',
    {
      joinable: async (userId: UserId, applicationId: ApplicationId | null) =>
        joinSecrets.joinable(userId, applicationId),
    },
    { again: true },
  ),
});

/** Keeps what others may join of what a session says that it does; a session that is over has nothing. */
const recordActivities =
  (joinSecrets: JoinSecrets, nowMs: () => number): Social['acting'] =>
  (session, sent) => {
    const { sessionId, bot } = session;
    const source = { sessionId, applicationId: session.authorization?.applicationId ?? null };
    const { shown, hidden } = readActivities(sent, bot, nowMs(), source);
    joinSecrets.set(session.userId as UserId, sessionId, session.over ? [] : hidden);
    return shown;
  };

/** A private channel that is at hand reads anew what the two are to each other; any other does when it is loaded. */
async function tellChannel(site: Site, a: UserId, b: UserId): Promise<void> {
  const channel = await site.storage.privateChannels.between(a, b);
  if (channel) await site.privates.relationsChanged(channel.id);
}

/** Where `to` writes to the same person already, the older channel stays where it was. */
async function moveChannels(site: Site, from: UserId, to: UserId): Promise<void> {
  const { users, privateChannels } = site.storage;
  const { inPrivate } = site;
  const [user] = await users.get([to]);
  if (!user) return;
  for (const { id, recipientIds } of await privateChannels.of(from, MOVED_CHANNELS_MAX)) {
    const peerId = recipientIds.find((recipientId) => recipientId !== from);
    if (!peerId || peerId === to || (await privateChannels.between(to, peerId))) continue;
    await inPrivate(id, 'replaceRecipient', { from, user }, SYSTEM);
    await site.privates.relationsChanged(id);
  }
}

/** Guilds and friends hear how somebody appears who has no session. */
const appearing =
  ({ present, users }: Site, { presented }: Pick<Social, 'presented'>) =>
  (userId: UserId, presence: Parameters<Social['presented']>[1]): void => {
    present(userId, users.guildIds(userId), presence);
    presented(userId, presence);
  };
