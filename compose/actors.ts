import type { VoiceListener } from '../actors/call/ports.ts';
import { createMembership } from '../actors/cluster/delivery/membership.ts';
import { settledCommits } from '../actors/cluster/membership/commits.ts';
import { type Cluster, standaloneCluster } from '../actors/cluster/shard.ts';
import type { Signing } from '../actors/runtime/aggregate.ports.ts';
import { createSupervisor } from '../actors/runtime/supervisor.ts';
import type { RequestHandlers } from '../actors/session/backend.ts';
import { rulesMsOf, stripeOf } from '../config/choices.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { Metric } from '../protocol/metrics.ts';
import { createTeams } from '../services/applications/teams.ts';
import { createFounding } from '../services/guilds/founding.ts';
import { createIntegrations } from '../services/guilds/integrations.ts';
import { startTags } from '../services/guilds/tags.ts';
import { createIdentity, type Identity } from '../services/identity/identity.ts';
import { oauthGuilds } from '../services/oauth/guilds.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import { createCatalog } from '../services/premium/catalog.ts';
import { startPremium } from '../services/premium/start.ts';
import { createStore } from '../services/premium/store.ts';
import { openMemoryBlobs } from '../storage/blob/blobs.memory.ts';
import type { Blobs } from '../storage/blob/blobs.ts';
import type { Storage } from '../storage/ports.ts';
import { stripeCalls } from '../transports/payments/stripe.http.ts';
import { createStripe } from '../transports/payments/stripe.ts';
import type { Features, ServiceContext } from './context.ts';
import {
  createAccounts,
  createCrossposts,
  createEndpoints,
  createGuildClocks,
  createInteractions,
  createLobbies,
  createOAuth,
  createProvisional,
  createRunningActivities,
  createSocial,
} from './features.ts';
import type { Foundation } from './foundation.ts';
import { createOwners } from './owners.ts';
import { createSessions } from './sessions.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The token was revoked.' };

/** The voice listener of an engine without calls. */
export const NO_CALLS: VoiceListener = { voiceJoined: () => {}, voiceLeft: () => {}, ended: () => {} };

interface ActorPorts {
  /** Called when a session opens. */
  readonly gatewayUrl: () => string;
  /** Base URL of this server as clients should use it, without a slash. */
  readonly publicUrl: () => string;
  /** Called when a user's voice state changes. */
  readonly voiceListener?: () => VoiceListener;
  /** Handles stream requests of sessions. */
  readonly stream?: RequestHandlers['stream'];
  /** Signs the attachment URLs in dispatches to gateway sessions. */
  readonly sign?: Signing['sign'];
  /** The cluster of this process; absent for a standalone process. */
  readonly cluster?: Cluster;
  /** Stores files that applications send in HTTP responses; in memory by default. */
  readonly blobs?: Blobs;
}

/** Creates the actors of this shard and connects them. */
export function createActors(
  foundation: Foundation,
  storage: Storage,
  {
    gatewayUrl,
    publicUrl,
    voiceListener = () => NO_CALLS,
    stream = () => {},
    cluster = standaloneCluster(),
    blobs = openMemoryBlobs(),
    ...signing
  }: ActorPorts,
) {
  const { clock, wheel, nextId, randomBytes, onFault } = foundation;
  /** Ends the sessions first, then the services that they use, and the owners last. */
  const scope = foundation.lifetime.child();
  const supervisor = createSupervisor();
  const membership = createMembership(cluster, foundation, () => membershipPorts);
  const owners = createOwners(foundation, {
    ...{ storage, cluster, supervisor, membership, voiceListener },
    ...signing,
  });
  scope.own(() => owners.closeOwners());
  // Sessions that end leave voice, which is stored; while the database is lost, the next owner ends what they leave.
  scope.own(() => settledCommits(storage.writer));
  const { users, applications } = storage;
  const identity = createIdentity({
    ...{ users, applications, routing: owners.routing, commit: owners.commit, nextId, randomBytes },
    security: foundation.security,
    revoked: (userId, tokenId) => sessionActors.sessions.closeSessionsOf(userId, REVOKED, tokenId),
    nowMs: () => clock.now(),
  });
  const { authenticate } = identity;
  const sessionActors = createSessions(foundation, {
    ...{ storage, cluster, owners, supervisor, membership, identity, gatewayUrl, stream },
    features: () => features,
    dispatchesMissed: () => {
      identity.forgetAll();
      features.oauth.forgetAll();
    },
  });
  const { sessions, clusterSessions } = sessionActors;
  const context: ServiceContext = {
    ...{ ...foundation, ...owners, scope, storage, blobs, supervisor, identity },
    ...{ voiceListener, publicUrl, cluster },
    publishPresence: sessionActors.publishPresence,
    sessions: () => sessions,
    features: () => features,
  };
  const features = createFeatures(context);
  const tags = startTags({ ...context, onFault: (error) => onFault(error, 'tags') });
  const membershipPorts = {
    ...{ ...owners, ...sessionActors, ...features, identity, wheel, clock, voiceListener },
    onFault: (error: unknown) => onFault(error, 'membership'),
    tags,
  };
  const founding = createFounding({
    ...{ ...context, guildsOwnedMax: foundation.config.guilds_owned_max },
    nowMs: () => clock.now(),
    memberJoined: membership.memberJoined,
  });
  foundation.metrics.push(...tokenMetrics(identity, features.oauth));
  scope.own(() => clusterSessions?.close());
  scope.own(() => sessions.close());
  const close = (): Promise<void> => scope.close();
  return { ...context, ...sessionActors, membership, founding, authenticate, features, close };
}

function createFeatures(context: ServiceContext): Features {
  const endpoints = createEndpoints(context);
  const teams = createTeams({ ...context, updateApplication: endpoints.update });
  return {
    oauth: createOAuth(context),
    accounts: createAccounts(context),
    provisional: createProvisional(context),
    ...createLobbies(context),
    social: createSocial(context),
    endpoints,
    crossposts: createCrossposts(context),
    ...createGuildClocks(context),
    runningActivities: createRunningActivities(context),
    interactions: createInteractions(context, endpoints),
    integrations: createIntegrations(context),
    teams,
    ...createPremium(context, teams),
  };
}

/** The bound counts tokens of both kinds. */
const tokenMetrics = (...[identity, oauth]: readonly [Identity, OAuth]): Metric[] =>
  Object.entries({ own: identity, oauth2: oauth }).map(([kind, tokens]) => ({
    name: 'guildhall_token_holders_at_hand',
    help: 'Users whose tokens are in memory: their own, or those of applications that act for them.',
    labels: { kind },
    max: identity.cached.max + oauth.cached.max,
    read: () => tokens.cached.count,
  }));

/** Sales of applications, with the payment provider if one is configured, and their stores. */
function createPremium(
  context: ServiceContext,
  teams: Features['teams'],
): Pick<Features, 'premium' | 'store' | 'catalog'> {
  const { config, storage, guilds, clock, publicUrl, security } = context;
  const stripe = stripeOf(config);
  const provider = stripe && createStripe({ call: stripeCalls(stripe), publicUrl });
  const premium = startPremium({ ...context, provider, rulesMs: (nowMs) => rulesMsOf(config, nowMs) });
  const store = createStore({
    storage,
    payments: premium.payments,
    guildsOf: oauthGuilds(guilds, storage.users).guildsOf,
    nowMs: () => clock.now(),
  });
  const isOpen = config.owners_manage_skus;
  return { premium, store, catalog: createCatalog({ storage, teams, premium, security, isOpen }) };
}
