import { Lifetime, systemClock } from '../actors/runtime/clock.ts';
import type { GatewaySessions } from '../actors/session/sessions.ts';
import { sessionViews } from '../actors/session/views.ts';
import { rulesMsOf } from '../config/choices.ts';
import type { Engine, EngineOptions } from '../embedding.ts';
import { interactions } from '../sdk/interactions/embedded.ts';
import { createSignInCodes, type SignInCodes } from '../services/accounts/signincodes.ts';
import { drain } from '../services/operator/drain.ts';
import { createInspection } from '../services/operator/inspection.ts';
import { createOperator } from '../services/operator/operator.ts';
import type { Storage } from '../storage/ports.ts';
import { createMetrics } from '../transports/admin/metrics.ts';
import { addressWatch } from '../transports/http/addresswatch.ts';
import { createPictures } from '../transports/http/pictures.ts';
import { createUrlSigner } from '../transports/http/signature.ts';
import type { Services } from '../transports/rest/services.ts';
import { dispatchSigner } from '../transports/rest/signing.ts';
import { createActors, NO_CALLS } from './actors.ts';
import { createApi, createServices, watchAddresses } from './api.ts';
import { directoryOf, type OpenCluster, openCluster } from './cluster.ts';
import type { Features } from './context.ts';
import { checkOptions, type Foundation, foundationOf } from './foundation.ts';
import { createNetwork } from './network.ts';
import { openStores, type Stores } from './stores.ts';
import { callControl, createVoice, type Voice } from './voice.ts';

/**
 * Creates an engine: stores, actors, rules and, once it listens, the network. It has no globals, handles no signals and
 * never ends the process, so one process can run several.
 *
 * @throws StorageFault when the database does not open.
 * @throws RangeError for an unknown option, or for unknown or invalid settings, which the message names.
 */
export const createEngine = async (options: EngineOptions = {}): Promise<Engine> =>
  (await assembleEngine(options)).engine;

/** As `createEngine`, with the voice of the engine, for tests of faults that no public interface causes. */
export async function assembleEngine(options: EngineOptions = {}) {
  checkOptions(options);
  const foundation = foundationOf(options);
  const { lifetime } = foundation;
  const directory = await directoryOf(foundation, options);
  /** The stores close last, because background work of the foundation's lifetime uses them. */
  const engineLifetime = new Lifetime(systemClock);
  return engineLifetime.openAll(async () => {
    const stores = await openStores(foundation, options, engineLifetime);
    engineLifetime.own(() => lifetime.close());
    const cluster = await openCluster(foundation, directory, stores);
    // For a failure of the next step; a running engine closes the cluster before its actors.
    lifetime.own(() => cluster.close());
    return engineOver({ ...foundation, stores, cluster, engineLifetime }, options);
  });
}

interface EnginePorts extends Foundation {
  readonly stores: Stores;
  readonly cluster: OpenCluster;
  readonly engineLifetime: Lifetime;
}

/** Connects stores and network. All background work ends with the foundation's lifetime. */
function engineOver({ stores, cluster, engineLifetime, ...foundation }: EnginePorts, options: EngineOptions) {
  const { config, clock, nextId, randomBytes } = foundation;
  const { storage, blobs, secret } = stores;
  const signer = createUrlSigner(Buffer.from(secret));
  const signUrl = (url: string) => signer.sign(url, clock.now());
  const actors = createActors(foundation, storage, {
    ...{ cluster, blobs },
    ...{ gatewayUrl: () => network.urls.gateway, publicUrl: () => network.urls.origin },
    voiceListener: () => voice?.voiceListener ?? NO_CALLS,
    stream: (session, request) => voice?.ask(session, request),
    sign: dispatchSigner(signUrl),
  });
  const { sessions, hooks } = actors;
  const invalid = watchAddresses(foundation.security);
  const watch = config.rate_limits ? addressWatch(invalid, () => clock.monotonic()) : null;
  const voice = config.voice ? createVoice({ ...foundation, ...actors, watch }) : null;
  const publicUrl = () => network.urls.origin;
  const stored = { storage, blobs, signer, secret, pictures: createPictures() };
  const common = { ...actors, ...stored, nextId, randomBytes, nowMs: () => clock.now() };
  const services = createServices({
    ...{ ...common, config, rulesMs: () => rulesMsOf(config, clock.now()) },
    ...actors.features,
    gateway: gatewayOf(() => network.urls.gateway, sessions),
    ...{ isExplicit: options.isExplicit, activityOrigin: (id) => network.activityOrigin(id) },
  });
  const api = createApi({
    ...{ ...foundation, cluster, services, invalid, storage },
    hooks: hooks.hooks,
    ...{ publicUrl, signUrl },
  });
  const metrics = createMetrics({
    residents: actors.registries,
    ...{ storage, faults: foundation.faults, metrics: foundation.metrics },
    gateway: () => network.gatewayStats(),
    voice,
  });
  const signInCodes = createSignInCodes({ randomBytes, monotonic: () => clock.monotonic() });
  const network = createNetwork({
    ...{ ...foundation, ...common, api, voice, watch, signInCodes, httpMetrics: metrics.http },
    sharedPort: options.sharedPort ?? false,
  });
  const engine: Engine = {
    config,
    api: api.api,
    ...interactions({ call: api.call, listen: hooks.on }),
    admin: createOperator({
      ...common,
      clock: options.clock ?? null,
      updateApplication: services.applications.update,
      appCommands: services.appCommands,
    }),
    ...lifeOf({ ...foundation, ...{ cluster, network, actors, voice, storage, engineLifetime } }),
    ...{ calls: callControl(voice), chaos: foundation.chaos, inspect: inspectionOf(actors, storage) },
    lobbies: lobbyControl(actors.features),
    cluster: cluster.parts.control({ cluster, clock, sessions }),
    ...{ on: hooks.on, before: hooks.before, after: hooks.after },
    playground: playgroundControl(signInCodes, publicUrl),
    metrics: metrics.text,
    security: foundation.security,
    unready: async () => ({
      ...databaseReason(await storage.unready()),
      ...{ ...cluster.unready(), ...network.unready() },
    }),
  };
  return { engine, voice };
}

const inspectionOf = (
  { sessions, features }: { readonly sessions: GatewaySessions; readonly features: Features },
  storage: Storage,
) =>
  createInspection({
    storage,
    sessions: (after, limit) => sessionViews(sessions.live, after, limit),
    queues: (limit) => features.matchmaking.queues(limit),
    attempts: (before, limit) => features.endpoints.events.attempts(before, limit),
    failing: (applicationId) => features.endpoints.events.failing(applicationId),
  });

interface Living extends Foundation {
  readonly cluster: OpenCluster;
  readonly network: ReturnType<typeof createNetwork>;
  readonly actors: ReturnType<typeof createActors>;
  readonly voice: Voice | null;
  readonly storage: Storage;
  readonly engineLifetime: Lifetime;
}

function lifeOf({
  config,
  clock,
  lifetime,
  onFault,
  cluster,
  network,
  actors,
  voice,
  storage,
  engineLifetime,
}: Living): Pick<Engine, 'listen' | 'drain' | 'close'> {
  // In reverse order: the sockets close first, then the services that they use.
  lifetime.own(() => actors.close());
  lifetime.own(() => cluster.close());
  lifetime.own(() => voice?.close());
  lifetime.own(() => network.close());
  return {
    listen: ({ adminUrl = null } = {}) => lifetime.run(network.listen(() => cluster.enter(adminUrl))),
    drain: () =>
      drain({
        ...{ clock, onFault, network, timeoutMs: config.drain_timeout_ms },
        ...{ ownership: cluster.ownership, writer: storage.writer },
        ...{ accounts: actors.features.accounts, interactions: actors.features.interactions },
      }),
    close: () => engineLifetime.close(),
  };
}

const gatewayOf = (url: () => string, sessions: GatewaySessions): Services['gateway'] => ({
  get url() {
    return url();
  },
  sessionStart: (userId) => sessions.startLimitOf(userId),
});

const lobbyControl = ({
  games,
  matchmaking,
}: Pick<Features, 'games' | 'matchmaking'>): Engine['lobbies'] => ({
  defineLobby: (name, handlers) => games.define(name, handlers),
  defineQueue: (name, definition) => matchmaking.define(name, definition),
});

const playgroundControl = (codes: SignInCodes, publicUrl: () => string): Engine['playground'] => ({
  signInLink: (entry) => `${publicUrl()}/#code=${codes.offer(entry)}`,
});

const databaseReason = (database: string | null): { database?: string } => (database ? { database } : {});
