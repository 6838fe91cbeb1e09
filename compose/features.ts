import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routed } from '../actors/cluster/routing/routed.ts';
import { FreshLobbies } from '../actors/lobby/fresh.ts';
import { Games } from '../actors/lobby/games.ts';
import { lobbyMachine } from '../actors/lobby/lobby.machine.ts';
import { LobbyShell } from '../actors/lobby/lobby.shell.ts';
import { Registry } from '../actors/runtime/registry.ts';
import { TimerWheel } from '../actors/runtime/wheel.ts';
import { isPublic } from '../config/config.ts';
import { SYSTEM } from '../engine/kernel/authority.ts';
import type { LobbyState } from '../engine/lobby/lobby.ts';
import { createPasswordHasher } from '../media/crypto/passwords.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { ApplicationId, UserId } from '../protocol/ids.ts';
import { assembleAccounts } from '../services/accounts/accounts.ts';
import { withoutBanned } from '../services/accounts/bans.ts';
import type { Accounts, Mailer, Passwords } from '../services/accounts/ports.ts';
import { countingRefusals } from '../services/accounts/refusedsignins.ts';
import { type ServedActivities, startRunningActivities } from '../services/activities/running.ts';
import { type Endpoints, startEndpoints } from '../services/applications/endpoints.ts';
import { createMessageFiles } from '../services/channels/messagefiles.ts';
import { createGuildClock } from '../services/guilds/guildclock.ts';
import { inviteCode } from '../services/guilds/invitecode.ts';
import { SearchIndex } from '../services/guilds/searchindex.ts';
import { type ServedInteractions, startInteractions } from '../services/interactions/interactions.ts';
import { createPlaces } from '../services/interactions/places.ts';
import { assembleLobbies, type LobbyAssembly } from '../services/lobbies/lobbies.ts';
import { secretHasher } from '../services/lobbies/secrets.ts';
import { Matchmaker } from '../services/matchmaking/matchmaker.ts';
import type { Matchmaking } from '../services/matchmaking/ports.ts';
import { oauthGuilds } from '../services/oauth/guilds.ts';
import { installedBy } from '../services/oauth/install.ts';
import { createOAuth as assemble } from '../services/oauth/oauth.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import type { Provisional } from '../services/players/ports.ts';
import { startProvisional } from '../services/players/start.ts';
import { PollDeadlines } from '../services/polls/deadlines.ts';
import { channelsOfPairs } from '../services/privatechannels/pairs.ts';
import {
  accountRoutes,
  LOBBY_ROUTES,
  MATCHMAKING_ROUTES,
  oauthRoutes,
  PROVISIONAL_ROUTES,
  SOCIAL_ROUTES,
} from '../services/routes.ts';
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
import { Crossposts } from '../services/webhooks/crossposts.ts';
import type { Storage } from '../storage/ports.ts';
import { residentMetrics } from '../transports/admin/residentmetrics.ts';
import { createAnswerReader } from '../transports/http/endpointanswers.ts';
import { createOutbox } from '../transports/mail/outbox.ts';
import { createSmtpMailer } from '../transports/mail/smtp.ts';
import { originsOf } from '../transports/outgoing/connection.ts';
import { createEndpointTransport } from '../transports/outgoing/endpoints.ts';
import { createOutgoing } from '../transports/outgoing/providers.ts';
import { attachmentKey } from '../transports/rest/image.ts';
import type { Features, ServiceContext } from './context.ts';
import { serverSecret } from './stores.ts';

/** User accounts with password hashing, e-mail by SMTP or to the outbox, bans, and metrics of refused sign-ins. */
export function createAccounts(context: ServiceContext): Accounts {
  const passwords = createPasswordHasher();
  context.metrics.push({
    name: 'guildhall_password_hashes_waiting',
    help: 'Passwords that wait to be hashed.',
    max: passwords.waiting.max,
    read: () => passwords.waiting.count,
  });
  const accounts = accountsOver(context, passwords);
  return countingRefusals(
    withoutBanned(accounts, (userId) => context.features().provisional.isBanned(userId)),
    context.metrics,
  );
}

function accountsOver(context: ServiceContext, passwords: Passwords): Accounts {
  const { config, storage, clock, nextId, randomBytes } = context;
  const accounts = assembleAccounts({
    accounts: storage.accounts,
    users: storage.users,
    userChanges: context.users,
    identity: context.identity,
    passwords,
    mailer: mailerOf(context),
    secret: () => serverSecret(config, storage, randomBytes),
    commit: context.commitAsOwner,
    registrationOpen: () =>
      config.registration === 'auto' ? !isPublic(config) : config.registration === 'open',
    addressLimits: config.rate_limits,
    publicUrl: context.publicUrl,
    nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes,
    routing: context.routing,
    security: context.security,
    onFault: (error) => context.onFault(error, 'accounts'),
  });
  return routed(accounts, accountRoutes(storage.accounts), context.routing);
}

function mailerOf({ config, clock, logger, mailer }: ServiceContext): Mailer {
  if (mailer !== null) return mailer;
  const { smtp_url: url, mail_from: from, data_dir: folder } = config;
  if (url !== null) return createSmtpMailer({ url, from });
  return createOutbox({
    folder: folder === null ? null : join(folder, 'outbox'),
    from,
    nowMs: () => clock.now(),
    written: (path) => logger.info({ path }, 'A letter was written: there is no mail server.'),
  });
}

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The authorization was revoked.' };

export function createOAuth(context: ServiceContext): OAuth {
  const { storage, nextId, randomBytes, clock, guilds } = context;
  const { applications, teams, users, settings } = storage;
  const closeSessions = context.routing.tellAll(
    'oauth.revoked',
    (userId: UserId, applicationId: ApplicationId) =>
      context.sessions().closeSessionsOfGrant(userId, applicationId, REVOKED),
  );
  const oauth = assemble({
    security: context.security,
    ...{ applications, teams, users, settings, nextId, randomBytes, routing: context.routing },
    store: storage.oauth,
    commit: context.commit,
    commitAsOwner: context.commitAsOwner,
    nowMs: () => clock.now(),
    publicUrl: context.publicUrl,
    isBanned: (userId) => context.features().provisional.isBanned(userId),
    merge: (order) => context.features().provisional.merge(order),
    revoked(userId, applicationId) {
      closeSessions(userId, applicationId);
      context.features().social.activities.takeBack(userId, applicationId);
    },
    // Follow-up work of a revocation reports its own faults, so that the revocation does not look failed.
    deauthorized: (userId, applicationId) =>
      context
        .features()
        .provisional.deauthorized(userId, applicationId)
        .catch((fault: unknown) => context.onFault(fault, 'deauthorized')),
    ...oauthGuilds(guilds, users),
  });
  return routed(oauth, oauthRoutes(applications), context.routing);
}

const ENDPOINT_TIMEOUT_MS = 3_000;

/** The URLs of applications: webhook events, and tests of interactions endpoints. */
export function createEndpoints(context: ServiceContext): Endpoints {
  const { config, clock, identity, onFault } = context;
  const endpoints = startEndpoints({
    ...context,
    commitAsOwner: async (ownerId, facts) => {
      await context.commitAsOwner(ownerId, facts);
      context.features().interactions.forget(ownerId);
    },
    transport: createEndpointTransport({
      privateOrigins: originsOf(config.endpoints_private),
      allowsLoopback: !isPublic(config),
      extraCa: extraCaOf(config),
      timeoutMs: ENDPOINT_TIMEOUT_MS,
      formBytesMax: config.request_bytes_max,
    }),
    mailer: mailerOf(context),
    contact: (userId) => context.features().accounts.contact(userId),
    forget: (botId) => identity.forget(botId),
    notifyGuilds: (application) => context.features().integrations.updated(application),
    nowMs: () => clock.now(),
    onFault: (error) => onFault(error, 'endpoints'),
  });
  context.metrics.push(
    {
      name: 'guildhall_webhook_events_sent_total',
      help: 'Webhook events that applications have acknowledged.',
      read: () => endpoints.events.counts.sent,
    },
    {
      name: 'guildhall_webhook_events_failed_total',
      help: 'Attempts to send a webhook event that were not acknowledged.',
      read: () => endpoints.events.counts.failed,
    },
    {
      name: 'guildhall_webhook_events_applications',
      help: 'Applications whose webhook events are being sent, or wait for another attempt.',
      read: () => endpoints.events.size,
    },
  );
  return endpoints;
}

export const extraCaOf = ({ identity_ca_file: file }: ServiceContext['config']): string | null =>
  file === null ? null : readFileSync(file, 'utf8');

/** Largest response read from an identity provider; its documents are small. */
const ANSWER_BYTES_MAX = 256 << 10;
const ANSWER_TIMEOUT_MS = 10_000;
const REQUESTS_MAX = 64;

/** Provisional accounts. Moves that an earlier run left unfinished are resumed once the engine is assembled. */
export function createProvisional(context: ServiceContext): Provisional {
  const { config, storage, clock, notifier, onFault } = context;
  const outgoing = createOutgoing({
    privateOrigins: originsOf(config.identity_issuers_private),
    extraCa: extraCaOf(config),
    timeoutMs: ANSWER_TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    requestsMax: REQUESTS_MAX,
  });
  const provisional = startProvisional({
    storage,
    outgoing,
    signOut: (userId) => context.features().accounts.closeAll(userId, null),
    oauth: () => context.features().oauth,
    mergeables: () => [context.features().lobbies, context.features().social],
    commit: context.commitAsOwner,
    routing: context.routing,
    notify(userId, t, d, among) {
      notifier.notify(userId, t, d, { own: true, applications: among ?? 'all' });
      context.hooks.tap.see(t, d, userId);
    },
    wheel: context.wheel,
    onFault: (error) => onFault(error, 'provisional'),
    nextId: context.nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes: context.randomBytes,
  });
  return routed(provisional, PROVISIONAL_ROUTES, context.routing);
}

/** Relationships and the features that depend on them. */
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
    // Sessions of the game are not notified: they ended with its tokens.
    async forgetGame(applicationId) {
      await commit(applicationId, [{ type: 'gameRelationsForgotten', applicationId }]);
      friendCache.forgetAll();
    },
  };
  return routed(social, SOCIAL_ROUTES, context.routing);
}

/** Delivery of published messages to following channels. */
export function createCrossposts({
  storage,
  guilds,
  routing,
  wheel,
  clock,
  onFault,
}: ServiceContext): Crossposts {
  const crossposts = new Crossposts({
    ...{ store: storage.webhooks, messages: storage.messages, guilds, routing, wheel },
    nowMs: () => clock.now(),
    onFault: (error) => onFault(error, 'crossposts'),
  });
  crossposts.start();
  return crossposts;
}

/** Indexes messages that earlier versions stored without search terms. */
export function createSearchIndex({ storage, wheel, onFault }: ServiceContext): SearchIndex {
  return new SearchIndex({ store: storage.search, wheel, onFault: (error) => onFault(error, 'search') });
}

/** Timed changes of guilds: scheduled events begin and end, quiet threads are archived. */
export function createGuildClocks({ storage, guilds, routing, wheel, clock, onFault }: ServiceContext) {
  const started = (
    where: string,
    store: Pick<Storage['threads'], 'due' | 'nextDueMs'>,
    command: 'settleScheduledEvents' | 'archiveThreads',
  ) => {
    const guildClock = createGuildClock({
      ...{ store, routing, wheel, nowMs: () => clock.now() },
      settle: (guildId) => guilds.call(guildId, command, {}, SYSTEM),
      onFault: (error) => onFault(error, where),
    });
    guildClock.start();
    return guildClock;
  };
  return {
    eventClock: started('scheduled events', storage.scheduledEvents, 'settleScheduledEvents'),
    threadClock: started('threads', storage.threads, 'archiveThreads'),
  };
}

/** The clock that ends polls. */
export function createPolls(context: ServiceContext): PollDeadlines {
  const { storage, onFault } = context;
  const polls = new PollDeadlines({
    ...context,
    store: storage.messages,
    onFault: (error) => onFault(error, 'polls'),
  });
  polls.start();
  return polls;
}

/** Activities that run in channels, with their participants. */
export function createRunningActivities(context: ServiceContext): ServedActivities {
  const { clock, nextId, onFault } = context;
  const nowMs = () => clock.now();
  const running = startRunningActivities({
    ...context,
    places: createPlaces({ ...context, env: () => ({ nowMs: nowMs(), nextId }) }),
    nowMs,
    onFault: (error) => onFault(error, 'activities'),
  });
  context.metrics.push({
    name: 'guildhall_activities_running',
    help: 'Activities that run in channels of this shard.',
    read: () => running.counts.running,
  });
  return running;
}

/** Uses of commands, components and forms, with their answers. */
export function createInteractions(context: ServiceContext, { sender }: Endpoints): ServedInteractions {
  const { config, storage, clock, randomBytes, onFault } = context;
  const messageFiles = createMessageFiles({ ...context, fileKey: attachmentKey });
  const interactions = startInteractions({
    ...{ ...context, sender, receive: createAnswerReader({ ...context, messageFiles }) },
    premiumTypeOf: (userId) => context.features().premium.premiumTypeOf(userId),
    secret: () => serverSecret(config, storage, randomBytes),
    sign: (t, d) => context.aggregate.sign?.({ t, d }).d ?? d,
    tap: context.hooks.tap,
    applicationChanged: (id) => context.features().lobbies.applicationChanged(id),
    launchActivity: ({ ownerId, guildId, channelId, applicationId, userId }) =>
      context.features().runningActivities.launch({ ownerId, guildId, channelId, applicationId, userId }),
    hasInstalled: async (userId, applicationId) =>
      (await installedBy(context.features().oauth)(userId)).includes(applicationId),
    nowMs: () => clock.now(),
    onFault: (error) => onFault(error, 'interactions'),
  });
  context.metrics.push({
    name: 'guildhall_interactions_waiting',
    help: 'Interactions that wait for the first answer of their application.',
    read: () => interactions.counts.waiting,
  });
  return interactions;
}

/** Sends the presence of a user without a session to guilds and friends. */
const appearing =
  ({ publishPresence, users }: ServiceContext, { presented }: Pick<Social, 'presented'>) =>
  (userId: UserId, presence: Parameters<Social['presented']>[1]): void => {
    publishPresence(userId, users.guildIds(userId), presence);
    presented(userId, presence);
  };

/** Shortest interval of game ticks, and how late a tick may run. */
const GAME_TICK_MS = 10;
const UINT32 = 2 ** 32;

const gamesOf = ({ clock, randomBytes, onFault }: ServiceContext, wheel: TimerWheel): Games =>
  new Games({
    wheel,
    monotonic: () => clock.monotonic(),
    nowMs: () => clock.now(),
    random: () => Buffer.from(randomBytes(4)).readUInt32LE() / UINT32,
    onFault: (error) => onFault(error, 'game'),
  });

export function createLobbies(context: ServiceContext): Pick<Features, 'lobbies' | 'games' | 'matchmaking'> {
  const { config, aggregate, clock, wheel, storage, logger, randomBytes, onFault } = context;
  const fresh = new FreshLobbies();
  const gameWheel = new TimerWheel(clock, GAME_TICK_MS);
  const games = gamesOf(context, gameWheel);
  const registry = new Registry<LobbyState, LobbyShell>({
    machine: lobbyMachine,
    backlogMax: config.guild_backlog_max,
    idleMs: config.user_idle_ms,
    supervisor: context.supervisor,
    clock,
    wheel,
    admits: context.cluster.admits,
    makeShell: (id, send) =>
      new LobbyShell(
        id,
        {
          ...aggregate,
          lobbies: storage.lobbies,
          fresh,
          messageWindowMax: config.guild_message_window_max,
          voiceListener: context.voiceListener,
          listener: assembly.listener,
          ...{ wheel, games, toEach: context.notifier.recipientOf, route: context.notifier.route },
        },
        send,
      ),
    onBug: (id, error) => logger.error({ err: error, kind: 'lobby', id }, 'A bug ended an actor.'),
  });
  const assembly: LobbyAssembly = assembleLobbies({
    ...{ ...context, registry, fresh },
    secretHash: secretHasher({ tokenSecret: config.token_secret, settings: storage.settings, randomBytes }),
    inviteCode: () => inviteCode(randomBytes),
    onFault: (error) => onFault(error, 'lobby'),
  });
  context.cluster.participants.set('lobby', registry);
  context.metrics.push(...residentMetrics('lobby', registry), {
    name: 'guildhall_lobby_members_connected',
    help: 'Members of lobbies who have a session open.',
    read: () => assembly.membersConnected(),
  });
  games.onDefined = () => {
    for (const shell of registry.shells()) shell.play();
  };
  const { lobbies } = assembly;
  const matchmaking: Matchmaking = new Matchmaker({
    ...{ lobbies, clock, wheel, nextId: context.nextId },
    ...{ notifier: context.notifier, routing: context.routing },
    onFault: (error) => onFault(error, 'matchmaking'),
  });
  const close = (): void => {
    matchmaking.close();
    lobbies.close();
    gameWheel.stop();
  };
  return {
    lobbies: routed({ ...lobbies, close }, LOBBY_ROUTES, context.routing),
    games,
    matchmaking: routed(matchmaking, MATCHMAKING_ROUTES, context.routing),
  };
}
