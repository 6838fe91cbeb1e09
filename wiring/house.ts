import type { Seats } from '../actors/call/ports.ts';
import { createIdentity } from '../actors/identity/identity.ts';
import { createSupervisor } from '../actors/runtime/supervisor.ts';
import type { SessionBackend } from '../actors/session/backend.ts';
import { GatewaySessions } from '../actors/session/sessions.ts';
import type { Config } from '../config.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import { splitsAt } from '../protocol/permissions.ts';
import type { Commit, Storage } from '../storage/ports.ts';
import { createBackend } from './backend.ts';
import type { Foundation } from './foundation.ts';
import { createHooks } from './hooks.ts';
import { createMembership } from './membership.ts';
import { createVoicePlaces } from './places.ts';
import { createResidents } from './residents.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The token was revoked.' };

/** For a house without calls. */
export const NO_CALLS: Seats = { seated: () => {}, unseated: () => {}, ended: () => {} };

/**
 * The actors of this shard and what ties them together. `gatewayUrl` is asked for when a session opens, `seats` when
 * somebody is somewhere else in voice, `stream` when a session asks for one.
 */
export function createHouse(
  foundation: Foundation,
  storage: Storage,
  gatewayUrl: () => string,
  seats: () => Seats = () => NO_CALLS,
  stream: SessionBackend['stream'] = () => {},
) {
  const { config, clock, wheel, nextId, randomBytes, logger, onFault } = foundation;
  const hooks = createHooks(
    (ownerId) => (residents.registries.guild.peek(ownerId) ? ownerId : null),
    (error) => onFault(error, 'listener'),
  );
  const membership = createMembership(() => ({
    ...residents,
    seats: seats(),
    wheel,
    clock,
    present: backend.present,
    onFault: (error) => onFault(error, 'membership'),
  }));
  const supervisor = createSupervisor();
  const aggregate = { writer: storage.writer, clock, nextId, splitsAt: splitsOf(config), tap: hooks.tap };
  const residents = createResidents({
    supervisor,
    config,
    storage,
    wheel,
    aggregate,
    guildListener: membership,
    userListener: membership,
    seats,
    onBug: (kind, id, error) => logger.error({ err: error, kind, id }, 'A bug ended an actor.'),
  });
  const commit = commitThrough(storage);
  const identity = createIdentity({
    users: storage.users,
    applications: storage.applications,
    commit,
    revoked: (userId) => sessions.closeSessionsOf(userId, REVOKED),
    nextId,
    nowMs: () => clock.now(),
    randomBytes,
  });
  const authenticate = (token: string) => identity.authenticate(token);
  const places = createVoicePlaces({ ...residents, clock, onFault: (error) => onFault(error, 'voice') });
  const backend = createBackend({
    ...residents,
    places,
    authenticate,
    storage,
    clock,
    stream,
    subscribe: membership.subscribe,
    onFault: (error) => onFault(error, 'session'),
  });
  const sessions = new GatewaySessions({
    settings: sessionSettings(config),
    backend,
    supervisor,
    wheel,
    nowMs: () => clock.monotonic(),
    randomBytes,
    gatewayUrl,
    onFault: (error) => onFault(error, 'session'),
  });
  return { ...residents, supervisor, places, hooks, membership, commit, identity, authenticate, sessions };
}

const commitThrough = (storage: Storage) => (ownerId: string, facts: Commit['facts']) =>
  new Promise<void>((resolve, reject) => {
    storage.writer.commit({ ownerId, facts, done: (fault) => (fault ? reject(fault) : resolve()) });
  });

/** The rules of the day that the setting names, or of today. */
function splitsOf({ permission_split_date: date }: Config) {
  const setMs = date === null ? null : Date.parse(date);
  return (nowMs: number) => splitsAt(setMs ?? nowMs);
}

const sessionSettings = (config: Config) => ({
  resumeWindowMs: config.resume_window_ms,
  replayFramesMax: config.replay_frames_max,
  // A dead connection is noticed only when its heartbeat is overdue.
  replayAgeMs: config.resume_window_ms + config.heartbeat_interval_ms + config.heartbeat_grace_ms,
  // A session may wait for its client while another socket has already come.
  sessionsMax: config.sockets_max * 2,
  maxConcurrency: config.max_concurrency,
  sessionStartsPerDay: config.session_starts_per_day,
  limited: config.rate_limits,
  shardingRequiredGuilds: config.sharding_required_guilds,
  hydrationsMax: 64,
  memberRequestsMax: 16,
});
