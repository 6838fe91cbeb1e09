import { readFileSync } from 'node:fs';
import { FreshLobbies } from '../actors/lobby/fresh.ts';
import { type GamePorts, Games } from '../actors/lobby/games.ts';
import { lobbyMachine } from '../actors/lobby/lobby.machine.ts';
import { LobbyShell } from '../actors/lobby/lobby.shell.ts';
import { KeptStates } from '../actors/runtime/keptstates.ts';
import { Registry } from '../actors/runtime/registry.ts';
import { TimerWheel } from '../actors/runtime/wheel.ts';
import { isRegistrationOpen } from '../config/choices.ts';
import { isPublic } from '../config/config.ts';
import { ENDPOINT_TIMEOUT_MS, GAME_TICK_MS, PROVIDER_REQUESTS } from '../config/fixed.ts';
import type { SessionRef } from '../engine/fanout/direct.ts';
import type { LobbyState } from '../engine/lobby/lobby.ts';
import { createPasswordHasher } from '../media/crypto/passwords.ts';
import { chancesFrom } from '../protocol/chance.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import { assembleAccounts } from '../services/accounts/accounts.ts';
import { withoutBanned } from '../services/accounts/bans.ts';
import type { Accounts, Mailer, Passwords } from '../services/accounts/ports.ts';
import { countingRefusals } from '../services/accounts/refusedsignins.ts';
import { type ServedActivities, startRunningActivities } from '../services/activities/running.ts';
import { committingApplications } from '../services/applications/commits.ts';
import { type Endpoints, startEndpoints } from '../services/applications/endpoints.ts';
import { createMessageFiles } from '../services/channels/messagefiles.ts';
import { startGuildClocks } from '../services/guilds/guildclocks.ts';
import { inviteCode } from '../services/guilds/invitecode.ts';
import { SearchIndex } from '../services/guilds/searchindex.ts';
import { serverSecret } from '../services/identity/serversecret.ts';
import { type ServedInteractions, startInteractions } from '../services/interactions/interactions.ts';
import { createPlaces } from '../services/interactions/places.ts';
import { assembleLobbies, type LobbyAssembly } from '../services/lobbies/lobbies.ts';
import { secretHasher } from '../services/lobbies/secrets.ts';
import { Matchmaker } from '../services/matchmaking/matchmaker.ts';
import type { Matchmaking } from '../services/matchmaking/ports.ts';
import { oauthGuilds } from '../services/oauth/guilds.ts';
import { hasInstalled } from '../services/oauth/install.ts';
import { createOAuth as assemble } from '../services/oauth/oauth.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import { createRevocation } from '../services/oauth/revocation.ts';
import { playerNotices } from '../services/players/notices.ts';
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
import type { Social } from '../services/social/ports.ts';
import { assembleSocial } from '../services/social/social.ts';
import { Crossposts } from '../services/webhooks/crossposts.ts';
import { residentMetrics } from '../transports/admin/residentmetrics.ts';
import { createAnswerReader } from '../transports/http/endpointanswers.ts';
import { openMailer } from '../transports/mail/mailer.ts';
import { originsOf } from '../transports/outgoing/connection.ts';
import { createEndpointTransport } from '../transports/outgoing/endpoints.ts';
import { createOutgoing } from '../transports/outgoing/providers.ts';
import { attachmentKey } from '../transports/rest/image.ts';
import type { Features, ServiceContext } from './context.ts';

/** User accounts with password hashing, e-mail by SMTP or to the outbox, bans, and metrics of refused sign-ins. */
export function createAccounts(context: ServiceContext): Accounts {
  const passwords = createPasswordHasher();
  context.metrics.push({
    name: 'guildhall_password_hashes_waiting',
    help: 'Passwords waiting to be hashed.',
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
    secret: () => serverSecret(context),
    commit: context.commitAsOwner,
    commitNew: context.commit,
    registrationOpen: () => isRegistrationOpen(config),
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
  return context.routing.service(accounts, accountRoutes(storage.accounts));
}

const mailerOf = ({ config, clock, logger, mailer }: ServiceContext): Mailer =>
  mailer ??
  openMailer({
    ...{ url: config.smtp_url, from: config.mail_from, folder: config.data_dir },
    nowMs: () => clock.now(),
    written: (path) =>
      logger.info({ path }, 'E-mail written to the outbox folder: no mail server is configured.'),
  });

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The authorization was revoked.' };

export function createOAuth(context: ServiceContext): OAuth {
  const { storage, nextId, randomBytes, clock, guilds } = context;
  const { applications, teams, users, settings } = storage;
  const revocation = createRevocation({
    routing: context.routing,
    closeSessions: (userId, applicationId, grantId) =>
      context.sessions().closeSessionsOfGrant(userId, applicationId, REVOKED, grantId),
    activities: () => context.features().social.activities,
    provisional: () => context.features().provisional,
    onFault: (error) => context.onFault(error, 'deauthorized'),
  });
  const oauth = assemble({
    security: context.security,
    ...{ applications, teams, users, settings, nextId, randomBytes, routing: context.routing },
    store: storage.oauth,
    commit: context.commit,
    commitAsOwner: context.commitAsOwner,
    clock,
    publicUrl: context.publicUrl,
    isBanned: (userId) => context.features().provisional.isBanned(userId),
    merge: (order) => context.features().provisional.merge(order),
    ...revocation,
    ...oauthGuilds(guilds, users),
  });
  context.identity.acceptGranted(oauth.authenticate);
  return context.routing.service(oauth, oauthRoutes(applications));
}

/** The URLs of applications: webhook events, and tests of interactions endpoints. */
export function createEndpoints(context: ServiceContext): Endpoints {
  const { config, clock, identity, onFault } = context;
  const endpoints = startEndpoints({
    ...context,
    commitAsOwner: committingApplications(context.commitAsOwner, (id) =>
      context.features().interactions.forget(id),
    ),
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
      help: 'Applications whose webhook events are being sent or wait for a retry.',
      read: () => endpoints.events.size,
    },
  );
  return endpoints;
}

export const extraCaOf = ({ identity_ca_file: file }: ServiceContext['config']): string | null =>
  file === null ? null : readFileSync(file, 'utf8');

/** Provisional accounts. Moves that an earlier run left unfinished are resumed once the engine is assembled. */
export function createProvisional(context: ServiceContext): Provisional {
  const { config, storage, clock, notifier, onFault } = context;
  const outgoing = createOutgoing({
    privateOrigins: originsOf(config.identity_issuers_private),
    extraCa: extraCaOf(config),
    ...PROVIDER_REQUESTS,
  });
  const provisional = startProvisional({
    storage,
    outgoing,
    signOut: (userId) => context.features().accounts.closeAll(userId, null),
    oauth: () => context.features().oauth,
    mergeables: () => [context.features().lobbies, context.features().social],
    ...{ commit: context.commit, commitAsOwner: context.commitAsOwner },
    routing: context.routing,
    commitAndNotify: context.commitAndNotify,
    tap: context.hooks.tap,
    notify: playerNotices(notifier, context.hooks.tap),
    ...{ wheel: context.wheel, scope: context.scope },
    onFault: (error) => onFault(error, 'provisional'),
    nextId: context.nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes: context.randomBytes,
  });
  return context.routing.service(provisional, PROVISIONAL_ROUTES);
}

/** Relationships and the features that depend on them. */
export const createSocial = (context: ServiceContext): Social =>
  context.routing.service(
    assembleSocial({
      ...context,
      contactPolicy: context.config.direct_messages_from,
      channels: channelsOfPairs(context),
      tap: context.hooks.tap,
      onFault: (error) => context.onFault(error, 'social'),
    }),
    SOCIAL_ROUTES,
  );

/** Delivery of published messages to following channels. */
export function createCrossposts({
  storage,
  guilds,
  routing,
  wheel,
  scope,
  clock,
  onFault,
}: ServiceContext): Crossposts {
  const crossposts = new Crossposts({
    ...{ store: storage.webhooks, messages: storage.messages, guilds, routing, wheel, scope },
    nowMs: () => clock.now(),
    onFault: (error) => onFault(error, 'crossposts'),
  });
  crossposts.start();
  return crossposts;
}

/** Indexes messages that earlier versions stored without search terms. */
function startSearchIndex({ storage, wheel, scope, onFault }: ServiceContext): void {
  new SearchIndex({
    ...{ store: storage.search, wheel, scope },
    onFault: (error) => onFault(error, 'search'),
  }).start();
}

/** Timed work on guilds: scheduled events begin and end, quiet threads are archived, polls end, messages are indexed. */
export function createGuildClocks(context: ServiceContext) {
  const clocks = startGuildClocks({ ...context, nowMs: () => context.clock.now() });
  startSearchIndex(context);
  startPolls(context);
  return clocks;
}

/** Starts the clock that ends polls. */
function startPolls(context: ServiceContext): void {
  const { storage, onFault } = context;
  const polls = new PollDeadlines({
    ...{ ...context, store: storage.messages },
    onFault: (error) => onFault(error, 'polls'),
  });
  polls.start();
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
  const { clock, onFault } = context;
  const messageFiles = createMessageFiles({ ...context, fileKey: attachmentKey });
  const interactions = startInteractions({
    ...{ ...context, sender, receive: createAnswerReader({ ...context, messageFiles }) },
    premiumTypeOf: (userId) => context.features().premium.premiumTypeOf(userId),
    secret: () => serverSecret(context),
    sign: (t, d) => context.aggregate.sign?.({ t, d }).d ?? d,
    tap: context.hooks.tap,
    applicationChanged: (id) => context.features().lobbies.applicationChanged(id),
    launchActivity: ({ ownerId, guildId, channelId, applicationId, userId }) =>
      context.features().runningActivities.launch({ ownerId, guildId, channelId, applicationId, userId }),
    hasInstalled: (userId, applicationId) => hasInstalled(context.features().oauth)(userId, applicationId),
    nowMs: () => clock.now(),
    onFault: (error) => onFault(error, 'interactions'),
  });
  context.metrics.push({
    name: 'guildhall_interactions_waiting',
    help: 'Interactions without a first response of their application.',
    read: () => interactions.counts.waiting,
  });
  return interactions;
}

const gamesOf = (
  { clock, randomBytes, onFault }: ServiceContext,
  { wheel, lobbies }: Pick<GamePorts, 'wheel' | 'lobbies'>,
): Games =>
  new Games({
    ...{ wheel, lobbies },
    monotonic: () => clock.monotonic(),
    nowMs: () => clock.now(),
    random: chancesFrom(randomBytes),
    onFault: (error) => onFault(error, 'game'),
  });

export function createLobbies(context: ServiceContext): Pick<Features, 'lobbies' | 'games' | 'matchmaking'> {
  const { config, aggregate, clock, wheel, storage, logger, randomBytes, onFault } = context;
  const fresh = new FreshLobbies();
  const kept = new KeptStates<readonly SessionRef[]>();
  const gameWheel = new TimerWheel(clock, GAME_TICK_MS);
  context.scope.own(() => gameWheel.stop());
  const games = gamesOf(context, { wheel: gameWheel, lobbies: () => registry.shells() });
  const registry: Registry<LobbyState, LobbyShell> = new Registry({
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
          kept,
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
  context.direct?.userDelivery.onOutdated(assembly.outdated);
  context.cluster.participants.set('lobby', registry);
  context.metrics.push(...residentMetrics('lobby', registry), {
    name: 'guildhall_lobby_members_connected',
    help: 'Members of lobbies who have a session open.',
    read: () => assembly.membersConnected(),
  });
  const { lobbies } = assembly;
  const matchmaking: Matchmaking = new Matchmaker({
    ...{ lobbies, clock, wheel, nextId: context.nextId, scope: context.scope },
    ...{ notifier: context.notifier, routing: context.routing },
    onFault: (error) => onFault(error, 'matchmaking'),
  });
  return {
    lobbies: context.routing.service(lobbies, LOBBY_ROUTES),
    games,
    matchmaking: context.routing.service(matchmaking, MATCHMAKING_ROUTES),
  };
}
