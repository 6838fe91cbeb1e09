import { randomBytes as systemRandomBytes } from 'node:crypto';
import { pino } from 'pino';
import { createIdentity } from '../actors/identity/identity.ts';
import { REDACTION } from '../actors/identity/secret.ts';
import { systemClock } from '../actors/runtime/clock.ts';
import { snowflakeSource } from '../actors/runtime/snowflakes.ts';
import { TimerWheel } from '../actors/runtime/wheel.ts';
import { GatewaySessions } from '../actors/session/sessions.ts';
import { type Config, DEFAULTS } from '../config.ts';
import type { Engine, EngineOptions } from '../embedding.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { UserId } from '../protocol/ids.ts';
import { splitsAt } from '../protocol/permissions.ts';
import type { Commit } from '../storage/ports.ts';
import { createApi } from './api.ts';
import { createBackend } from './backend.ts';
import { createHooks } from './hooks.ts';
import { createMembership, type MembershipPorts } from './membership.ts';
import { createMetrics } from './metrics.ts';
import { createNetwork } from './network.ts';
import { createOperator } from './operator.ts';
import { createResidents } from './residents.ts';
import { createServices } from './services.ts';
import { openStores } from './stores.ts';

/** Sessions that are sent their guilds at the same time. */
const HYDRATIONS_MAX = 64;
const MEMBER_REQUESTS_MAX = 16;

/**
 * Makes an engine: stores, actors, rules and, once it listens, the network. It has no globals, takes no signals and
 * never ends the process, so many fit in one.
 *
 * @throws StorageFault when the database does not open.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const config: Config = { ...DEFAULTS, ...options.config };
  const clock = options.clock ?? systemClock;
  const randomBytes = options.randomBytes ?? systemRandomBytes;
  const logger = options.logger ?? pino({ level: config.log_level, redact: REDACTION });
  const nextId = options.nextId ?? snowflakeSource(clock, options.workerId ?? 0);
  const { storage, blobs, secret } = await openStores(config, options, randomBytes);
  const wheel = new TimerWheel(clock);
  const onFault = (error: unknown, id: string) => {
    metrics.fault('background');
    logger.error({ err: error, id }, 'Something failed that nobody waited for.');
  };

  const hooks = createHooks(
    (ownerId) => (residents.registries.guild.peek(ownerId) ? ownerId : null),
    (error) => logger.error({ err: error }, 'A listener of the embedding program has thrown.'),
  );
  const splitDateMs = config.permission_split_date === null ? null : Date.parse(config.permission_split_date);
  const membership = createMembership(
    (): MembershipPorts => ({ ...residents, wheel, clock, present: backend.present, onFault }),
  );
  const residents = createResidents({
    config,
    storage,
    wheel,
    aggregate: {
      writer: storage.writer,
      clock,
      nextId,
      splitsAt: (nowMs) => splitsAt(splitDateMs ?? nowMs),
      tap: hooks.tap,
    },
    guildListener: membership,
    userListener: membership,
    onBug: (kind, id, error) =>
      logger.error({ err: error, kind, id }, 'A bug ended an actor; it is loaded again when needed.'),
  });
  const { guilds, users } = residents;

  const commit = (ownerId: string, facts: Commit['facts']) =>
    new Promise<void>((resolve, reject) => {
      storage.writer.commit({ ownerId, facts, done: (fault) => (fault ? reject(fault) : resolve()) });
    });
  const identity = createIdentity({
    users: storage.users,
    applications: storage.applications,
    commit,
    revoked: (userId) =>
      sessions.closeSessionsOf(userId, { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The token was revoked.' }),
    nextId,
    nowMs: () => clock.now(),
    randomBytes,
  });
  const authenticate = (token: string) => identity.authenticate(token);
  const backend = createBackend({ authenticate, guilds, users, storage, clock, onFault });
  const sessions = new GatewaySessions({
    settings: {
      resumeWindowMs: config.resume_window_ms,
      replayFramesMax: config.replay_frames_max,
      replayAgeMs: config.resume_window_ms + config.heartbeat_interval_ms + config.heartbeat_grace_ms,
      sessionsMax: config.sockets_max * 2,
      maxConcurrency: config.max_concurrency,
      sessionStartsPerDay: config.session_starts_per_day,
      limited: config.rate_limits,
      shardingRequiredGuilds: config.sharding_required_guilds,
      hydrationsMax: HYDRATIONS_MAX,
      memberRequestsMax: MEMBER_REQUESTS_MAX,
    },
    backend,
    wheel,
    nowMs: () => clock.monotonic(),
    randomBytes,
    gatewayUrl: () => network.urls().gateway,
    onFault,
  });
  const metrics = createMetrics({
    residents: residents.registries,
    storage,
    sessions: () => sessions.size,
    sockets: () => network.sockets(),
  });

  const services = createServices({
    authenticate,
    nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes,
    gateway: {
      get url() {
        return network.urls().gateway;
      },
      sessionStart: (userId) => sessions.startLimitOf(userId),
    },
    storage,
    blobs,
    guilds,
    users,
    channels: residents.channels,
    privateChannels: residents.privateChannels,
    commit,
    forget: (botId: UserId) => identity.forget(botId),
  });
  const api = createApi({
    config,
    clock,
    services,
    hooks: hooks.hooks,
    storage,
    publicUrl: () => network.urls().origin,
  });
  const network = createNetwork({
    config,
    clock,
    logger,
    wheel,
    api,
    sessions,
    blobs,
    secret,
    authenticate,
    metrics,
  });

  let closing: Promise<void> | null = null;
  async function close(): Promise<void> {
    network.close();
    sessions.close();
    for (const registry of Object.values(residents.registries)) registry.drain();
    wheel.stop();
    await storage.close();
  }
  return {
    config,
    api: api.operations,
    admin: createOperator({
      storage,
      identity,
      guilds,
      users,
      nextId,
      nowMs: () => clock.now(),
      randomBytes,
      commit,
      memberJoined: membership.memberJoined,
    }),
    listen: () => network.listen(),
    async drain() {
      await network.drain();
      await storage.writer.flush();
    },
    close: () => (closing ??= close()),
    on: hooks.on,
    before: hooks.before,
    after: hooks.after,
    metrics: metrics.text,
    async unready() {
      const database = await storage.unready();
      return { ...(database && { database }), ...network.unready() };
    },
  };
}
