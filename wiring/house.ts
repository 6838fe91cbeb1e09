import type { Seats } from '../actors/call/ports.ts';
import { createIdentity, type Identity } from '../actors/identity/identity.ts';
import type { OAuth } from '../actors/oauth/ports.ts';
import { createSupervisor } from '../actors/runtime/supervisor.ts';
import type { SessionBackend } from '../actors/session/backend.ts';
import type { SessionDeps } from '../actors/session/sessions.ports.ts';
import { GatewaySessions } from '../actors/session/sessions.ts';
import type { Config } from '../config.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import { splitsAt } from '../protocol/permissions.ts';
import type { Storage } from '../storage/ports.ts';
import { createAccounts } from './accounts.ts';
import { createBackend } from './backend.ts';
import { createAuthorizeRequests } from './cluster.homes.ts';
import { createPresent } from './cluster.presence.ts';
import { createClusterSessions } from './cluster.sessions.ts';
import { alone, type Cluster } from './cluster.ts';
import { committing, committingAsOwner, fencedWriter } from './commits.ts';
import type { Figure } from './figures.ts';
import type { Foundation } from './foundation.ts';
import { createHooks } from './hooks.ts';
import { createLobbies } from './lobbies.ts';
import { createMembership } from './membership.ts';
import { createOAuth } from './oauth.ts';
import { createVoicePlaces } from './places.ts';
import { createProvisional } from './provisional.ts';
import { createResidents } from './residents.ts';
import { keepSessions, replayAgeMs, type SessionKeeping } from './sessions.archive.ts';
import type { Parts, Site } from './site.ts';
import { createSocial } from './social.ts';
import { createTenure } from './tenure.ts';
import { createWays } from './ways.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The token was revoked.' };

/** For a house without calls. */
export const NO_CALLS: Seats = { seated: () => {}, unseated: () => {}, ended: () => {} };

export interface HousePorts {
  /** Asked for when a session opens. */
  readonly gatewayUrl: () => string;
  /** Base URL of this server as clients should use it, without a slash. */
  readonly publicUrl: () => string;
  /** Asked for when somebody is somewhere else in voice. */
  readonly seats?: () => Seats;
  /** Called when a session asks for a stream. */
  readonly stream?: SessionBackend['stream'];
  /** Of which this process is a shard; none when absent. */
  readonly cluster?: Cluster;
}

/** The actors of this shard and what ties them together. */
export function createHouse(
  foundation: Foundation,
  storage: Storage,
  { gatewayUrl, publicUrl, seats = () => NO_CALLS, stream = () => {}, cluster = alone() }: HousePorts,
) {
  const { config, clock, wheel, nextId, randomBytes, logger, onFault } = foundation;
  const hooks = createHooks(
    (ownerId) => (residents.registries.guild.peek(ownerId) ? ownerId : null),
    (error) => onFault(error, 'listener'),
  );
  const membership = createMembership(cluster, () => ({
    ...{ ...residents, ...ways, clusterSessions, wheel, clock, present },
    seats: seats(),
    lobbies: parts.lobbies,
    onFault: (error) => onFault(error, 'membership'),
  }));
  const supervisor = createSupervisor();
  const { ownership } = cluster;
  const writer = fencedWriter(storage.writer, ownership);
  const tenure = createTenure(foundation, storage.cluster, ownership);
  const aggregate = { writer, tenure, clock, nextId, splitsAt: splitsOf(config), tap: hooks.tap };
  const residents = createResidents({
    supervisor,
    cluster,
    config,
    storage,
    wheel,
    aggregate,
    guildListener: membership,
    userListener: membership,
    listeners: (userId) => ways.telling.listeners(userId),
    seats,
    onBug: (kind, id, error) => logger.error({ err: error, kind, id }, 'A bug ended an actor.'),
  });
  const commit = committing(writer, ownership, clock);
  const commitAsOwner = committingAsOwner(writer);
  const ways = createWays({ ...residents, clock, cluster, storage, hooks, nextId, commit });
  const identity = createIdentity({
    ...ways,
    users: storage.users,
    applications: storage.applications,
    commit,
    revoked: (userId, tokenId) => sessions.closeSessionsOf(userId, REVOKED, tokenId),
    ...{ nextId, randomBytes, nowMs: () => clock.now() },
  });
  const authenticate = async (token: string) =>
    (await identity.authenticate(token)) ?? parts.oauth.authenticate(token);
  const places = createVoicePlaces({ ...residents, ...ways, onFault: (error) => onFault(error, 'voice') });
  const onSessionFault = (error: unknown): void => onFault(error, 'session');
  const present = createPresent({ ...residents, clock, cluster, onFault: onSessionFault });
  const local = createBackend({
    ...{ ...residents, places, authenticate, storage, clock, wheel, stream, present },
    subscribe: membership.subscribe,
    parts: () => parts,
    onFault: onSessionFault,
  });
  const clusterSessions = cluster.links
    ? createClusterSessions({
        ...{ cluster, links: cluster.links, guilds: residents.guilds, local, clock, wheel },
        resumeWindowMs: config.resume_window_ms,
        interrupted: (guildId) => sessions.journal?.lagging(guildId),
        broken: () => {
          identity.forgetAll();
          parts.oauth.forgetAll();
        },
        onFault: onSessionFault,
      })
    : null;
  const backend = clusterSessions?.backend ?? local;
  const keeping = keepSessions(foundation, cluster, () => sessions);
  const sessions = sessionsOver(foundation, {
    ...keeping,
    backend,
    supervisor,
    gatewayUrl,
    routing: ways.routing,
  });
  const site: Site = {
    ...{
      ...foundation,
      ...residents,
      ...ways,
      storage,
      supervisor,
      identity,
      hooks,
      commit,
      aggregate,
      commitAsOwner,
    },
    ...{ seats, publicUrl, cluster, sessions: () => sessions, parts: () => parts },
  };
  const parts = createParts(site);
  foundation.figures.push(...tokenFigures(identity, parts.oauth), ...sessionFigures(sessions, config));
  const close = (): void => {
    sessions.close();
    clusterSessions?.close();
    parts.lobbies.close();
    parts.provisional.close();
    for (const registry of Object.values(residents.registries)) registry.drain();
  };
  const authorizeRequests = createAuthorizeRequests(() => sessions, cluster);
  const made = { places, membership, authenticate, sessions, clusterSessions, authorizeRequests, parts };
  return { ...site, ...made, close };
}

const sessionsOver = (
  { config, clock, wheel, randomBytes, onFault }: Foundation,
  ports: Pick<SessionDeps, 'backend' | 'supervisor' | 'gatewayUrl' | 'routing'> & SessionKeeping,
) =>
  new GatewaySessions({
    ...ports,
    settings: sessionSettings(config),
    wheel,
    nowMs: () => clock.monotonic(),
    unixMs: () => clock.now(),
    randomBytes,
    onFault: (error) => onFault(error, 'session'),
  });

const createParts = (site: Site): Parts => ({
  oauth: createOAuth(site),
  accounts: createAccounts(site),
  provisional: createProvisional(site),
  ...createLobbies(site),
  social: createSocial(site),
});

const SESSION_KINDS = ['bot', 'person', 'application'] as const;

const sessionFigures = (sessions: GatewaySessions, config: Config): Figure[] => [
  ...SESSION_KINDS.map((kind) => ({
    name: 'guildhall_gateway_sessions',
    help: 'Gateway sessions, connected or resumable: of bots, of people, of applications that act for people.',
    labels: { kind },
    max: sessionSettings(config).sessionsMax,
    read: () => sessions.sizeOf(kind),
  })),
  {
    name: 'guildhall_hydrations_waiting',
    help: 'Sessions that wait for their turn to be sent a guild.',
    max: sessionSettings(config).sessionsMax,
    read: () => sessions.hydrationsWaiting,
  },
];

/** The bound is of both together. */
const tokenFigures = (...[identity, oauth]: readonly [Identity, OAuth]): Figure[] =>
  Object.entries({ own: identity, oauth2: oauth }).map(([kind, tokens]) => ({
    name: 'guildhall_token_holders_at_hand',
    help: 'Users whose tokens are in memory: their own, or those of applications that act for them.',
    labels: { kind },
    max: identity.atHand.max + oauth.atHand.max,
    read: () => tokens.atHand.count,
  }));

/** The rules of the day that the setting names, or of today. */
function splitsOf({ permission_split_date: date }: Config) {
  const setMs = date === null ? null : Date.parse(date);
  return (nowMs: number) => splitsAt(setMs ?? nowMs);
}

const sessionSettings = (config: Config) => ({
  resumeWindowMs: config.resume_window_ms,
  replayFramesMax: config.replay_frames_max,
  replayAgeMs: replayAgeMs(config),
  // A session may wait for its client while another socket has already come.
  sessionsMax: config.sockets_max * 2,
  maxConcurrency: config.max_concurrency,
  sessionStartsPerDay: config.session_starts_per_day,
  limited: config.rate_limits,
  shardingRequiredGuilds: config.sharding_required_guilds,
  hydrationsMax: 64,
  memberRequestsMax: 16,
});
