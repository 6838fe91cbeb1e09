import type { Membership } from '../actors/cluster/delivery/membership.ts';
import { createClusterSessions } from '../actors/cluster/delivery/sessions.ts';
import { createAuthorizeRequests } from '../actors/cluster/routing/authorizerequests.ts';
import type { Cluster } from '../actors/cluster/shard.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { RequestHandlers } from '../actors/session/backend.ts';
import { replayAgeMs, type SessionPersistence } from '../actors/session/persistence.ts';
import type { SessionDeps } from '../actors/session/sessions.ports.ts';
import { GatewaySessions } from '../actors/session/sessions.ts';
import { rulesMsOf, sessionsMaxOf } from '../config/choices.ts';
import type { Config } from '../config/config.ts';
import { isInForce } from '../protocol/dates.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Metric } from '../protocol/metrics.ts';
import type { Identity } from '../services/identity/identity.ts';
import { createRepeating } from '../services/repeating.ts';
import { createBackend } from '../services/sessions/backend.ts';
import { lastSeen } from '../services/sessions/lastseen.ts';
import { createVoicePlaces } from '../services/voice/places.ts';
import type { Storage } from '../storage/ports.ts';
import { ownUser } from '../transports/rest/accounts.ts';
import type { Features } from './context.ts';
import type { Foundation } from './foundation.ts';
import type { Owners } from './owners.ts';

interface SessionPorts {
  readonly storage: Storage;
  readonly cluster: Cluster;
  readonly owners: Owners;
  readonly supervisor: Supervisor;
  readonly membership: Pick<Membership, 'subscribe'>;
  readonly identity: Pick<Identity, 'authenticate' | 'endRevoked'>;
  readonly gatewayUrl: () => string;
  readonly stream: RequestHandlers['stream'];
  readonly features: () => Features;
  /** Called when dispatches from other shards may have been lost. */
  readonly dispatchesMissed: () => void;
}

/** The sessions that this shard hosts, and their routes to the owners of their users and guilds. */
export function createSessions(foundation: Foundation, ports: SessionPorts) {
  const { config, clock, wheel, lifetime } = foundation;
  const { owners, cluster } = ports;
  const onFault = (error: unknown): void => foundation.onFault(error, 'session');
  const places = createVoicePlaces({
    ...{ ...owners, clock, wheel },
    storage: ports.storage,
    repeat: createRepeating({ wheel, scope: lifetime, onFault }).repeat,
    onFault: (error) => foundation.onFault(error, 'voice'),
  });
  const { resume_window_ms: resumeWindowMs } = config;
  const presences = cluster.parts.presences({ ...owners, clock, wheel, cluster, resumeWindowMs, onFault });
  const { publish, republish } = presences;
  const userBackend = createBackend({
    ...{ ...owners, ...ports, places, clock, wheel, publishPresence: publish, onFault },
    subscribe: ports.membership.subscribe,
    seen: lastSeen({ ...owners, clock, onFault: foundation.onFault }),
    ownUser: (user, scopes) => ownUser(user, scopes, ports.features()),
    ...{ isClosing: () => lifetime.over, scope: lifetime, resumeWindowMs },
  });
  const clusterSessions = cluster.links
    ? createClusterSessions({
        ...{
          cluster,
          links: cluster.links,
          guilds: owners.guilds,
          direct: owners.direct,
          userBackend,
          clock,
        },
        ...{ wheel, lifetime, onFault, resumeWindowMs, noSubscribers: presences.noSubscribers },
        streamInterrupted: (guildId) => sessions.journal?.lagging(guildId),
        dispatchesMissed: ports.dispatchesMissed,
      })
    : null;
  const sessions = sessionsOver(foundation, {
    ...cluster.parts.persistence(
      { ...foundation, isSolo: Boolean(cluster.directory?.isSolo) },
      cluster,
      () => sessions,
    ),
    ...{ supervisor: ports.supervisor, gatewayUrl: ports.gatewayUrl, routing: owners.routing },
    backend: clusterSessions?.backend ?? userBackend,
  });
  foundation.metrics.push(...sessionMetrics(sessions, config));
  const authorizeRequests = createAuthorizeRequests(() => sessions, cluster);
  return {
    places,
    publishPresence: publish,
    republishPresences: republish,
    sessions,
    clusterSessions,
    authorizeRequests,
  };
}

const sessionsOver = (
  { config, clock, wheel, randomBytes, onFault }: Foundation,
  ports: Pick<SessionDeps, 'backend' | 'supervisor' | 'gatewayUrl' | 'routing'> & SessionPersistence,
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

const SESSION_KINDS = ['bot', 'person', 'application'] as const;

const sessionMetrics = (sessions: GatewaySessions, config: Config): Metric[] => [
  ...SESSION_KINDS.map((kind) => ({
    name: 'guildhall_gateway_sessions',
    help: 'Gateway sessions, connected or resumable: of bots, of people, of applications that act for people.',
    labels: { kind },
    max: sessionSettings(config).sessionsMax,
    read: () => sessions.sizeOf(kind),
  })),
  {
    name: 'guildhall_hydrations_waiting',
    help: 'Sessions waiting for their next GUILD_CREATE.',
    max: sessionSettings(config).sessionsMax,
    read: () => sessions.hydrationsWaiting,
  },
];

const sessionSettings = (config: Config) => ({
  resumeWindowMs: config.resume_window_ms,
  replayFramesMax: config.replay_frames_max,
  replayAgeMs: replayAgeMs(config),
  sessionsMax: sessionsMaxOf(config),
  maxConcurrency: config.max_concurrency,
  sessionStartsPerDay: config.session_starts_per_day,
  limited: config.rate_limits,
  shardingRequiredGuilds: config.sharding_required_guilds,
  hydrationsMax: LIMITS.hydrations_max,
  memberRequestsMax: LIMITS.member_requests_waiting_max,
  limitsMemberLists: (nowMs: number) => isInForce('member_lists_limited', rulesMsOf(config, nowMs)),
});
