import type { TemplatedApp } from 'uWebSockets.js';
import { systemClock } from '../actors/runtime/clock.ts';
import { LogWindows } from '../actors/runtime/faults.ts';
import { notYetOpened } from '../actors/runtime/opened.ts';
import { VERSION } from '../actors/runtime/version.ts';
import type { Principal } from '../actors/session/ports.ts';
import type { GatewaySessions } from '../actors/session/sessions.ts';
import { activitiesOf, baseUrlsOf, servesWeb, socketUrlOf, stripeOf } from '../config/choices.ts';
import { CLOSE_GRACE_MS } from '../config/fixed.ts';
import type { Addresses } from '../embedding.ts';
import { Allowance } from '../engine/session/allowance.ts';
import type { ApplicationId } from '../protocol/ids.ts';
import { formLimits } from '../services/accounts/formlimits.ts';
import type { SignInCodes } from '../services/accounts/signincodes.ts';
import { activityTargets } from '../services/activities/targets.ts';
import type { Blobs } from '../storage/blob/blobs.ts';
import type { Storage } from '../storage/ports.ts';
import { type ActivityProxy, openActivityProxy } from '../transports/activities/proxy.ts';
import { asyncApi } from '../transports/description/asyncapi.ts';
import { createGatewayRoutes, type Gateway, type GatewayDeps } from '../transports/gateway/routes.ts';
import type { AddressWatch } from '../transports/http/addresswatch.ts';
import { type ApiSettings, apiRoutes, callersBy, type HttpMetrics } from '../transports/http/api.ts';
import { bodyMemoryBounds } from '../transports/http/body.ts';
import { cdnRoutes } from '../transports/http/cdn.ts';
import { documentRoutes } from '../transports/http/documents.ts';
import type { Pictures } from '../transports/http/pictures.ts';
import { type HttpServer, type Installer, startServer } from '../transports/http/server.ts';
import type { UrlSigner } from '../transports/http/signature.ts';
import { docsRoutes, webRoutes } from '../transports/http/web.ts';
import { builtDocsFolder, builtWebFolder } from '../transports/http/webfiles.ts';
import { wellKnownRoutes } from '../transports/http/wellknown.ts';
import { originsOf } from '../transports/outgoing/connection.ts';
import { PAGES } from '../transports/pages/index.ts';
import { playgroundRoutes } from '../transports/pages/playground.ts';
import { type PagesDeps, pageRoutes } from '../transports/pages/routes.ts';
import { stripeWebhook } from '../transports/payments/webhook.ts';
import { restChaos } from '../transports/rest/chaos.ts';
import { openApi } from '../transports/rest/openapi.ts';
import type { createApi } from './api.ts';
import type { Features } from './context.ts';
import { extraCaOf } from './features.ts';
import type { Foundation } from './foundation.ts';
import type { Voice } from './voice.ts';

interface NetworkPorts extends Foundation {
  readonly api: ReturnType<typeof createApi>;
  readonly sessions: GatewaySessions;
  readonly features: Pick<Features, 'accounts' | 'oauth' | 'premium' | 'store' | 'catalog'>;
  readonly storage: Pick<Storage, 'applications'>;
  readonly blobs: Blobs;
  readonly pictures: Pictures;
  readonly signer: UrlSigner;
  readonly watch: AddressWatch | null;
  readonly authenticate: (token: string, isBearer: boolean) => Promise<Principal | null>;
  readonly signInCodes: Pick<SignInCodes, 'redeem'>;
  /** Null when calls are disabled. */
  readonly voice: Voice | null;
  /** Whether other processes listen on the same port. */
  readonly sharedPort: boolean;
  readonly httpMetrics: HttpMetrics;
}

/** The port that serves API, gateway and CDN; it opens with `listen`. */
export function createNetwork(ports: NetworkPorts) {
  const { config, lifetime } = ports;
  let server: HttpServer | null = null;
  let gateway: Gateway | null = null;
  let activities: ActivityProxy | null = null;

  /** Written again once the server listens: until then the port may be unknown. */
  const urls = baseUrlsOf(config, config.listen_port);

  /**
   * @param enter Joins the cluster. Calls already listen then, because calls of other shards may move here at once and
   *   their members are sent the new endpoint.
   */
  async function listen(enter: () => Promise<void>): Promise<Addresses> {
    notYetOpened(server, 'The engine listens already.');
    const voice = (await ports.voice?.listen()) ?? null;
    lifetime.check();
    await enter();
    lifetime.check();
    const proxy = openActivities(ports, () => urls.origin);
    activities = proxy && (await lifetime.opening(proxy));
    const installers = installersOf(
      { ...ports, activityOrigins: activities?.origins ?? null },
      urls,
      (app) => {
        gateway = createGatewayRoutes(app, gatewayDeps(ports));
      },
    );
    const { listen_host: host, listen_port: port } = config;
    server = await lifetime.opening(
      startServer({ ...{ host, port, lifetime, installers }, shared: ports.sharedPort }),
    );
    Object.assign(urls, baseUrlsOf(config, server.port));
    return { api: `${urls.origin}/api`, gateway: urls.gateway, cdn: urls.origin, voice };
  }

  return {
    urls,
    listen,
    /** The origin of an application's activity; null where no activities are served. */
    activityOrigin: (id: ApplicationId): string | null => activities?.originOf(id) ?? null,
    gatewayStats: () => gateway?.stats() ?? null,
    unready: (): Record<string, string> => (server ? {} : { network: 'The server does not listen yet.' }),
    async drain(timeoutMs: number): Promise<void> {
      server?.stopAccepting();
      await Promise.all([gateway?.drain(timeoutMs), ports.voice?.drain(timeoutMs)]);
    },
    close(): void {
      gateway?.close();
      void activities?.close();
      server?.close();
    },
  };
}

/** The proxy of activities; null when it is not configured. */
function openActivities(
  { config, storage, clock, onFault }: NetworkPorts,
  server: () => string,
): Promise<ActivityProxy> | null {
  const activities = activitiesOf(config);
  if (activities === null) return null;
  const { baseUrl, port, allowsLoopback, localPages } = activities;
  return openActivityProxy({
    ...{ host: config.listen_host, baseUrl, server, clock },
    targetOf: activityTargets({ storage, clock }),
    port,
    embedders: [...originsOf(config.activities_embedders), ...localPages],
    privateOrigins: originsOf(config.endpoints_private),
    allowsLoopback,
    trustProxy: config.trust_proxy,
    extraCa: extraCaOf(config),
    requestBytesMax: config.request_bytes_max,
    onFault: (error) => onFault(error, 'activity proxy'),
  });
}

/** All routes of the port. */
const installersOf = (
  ports: NetworkPorts & { readonly activityOrigins: string | null },
  urls: { readonly origin: string },
  install: (app: TemplatedApp) => void,
): Installer[] => {
  const { config, clock, logger } = ports;
  const origin = () => urls.origin;
  return [
    apiRoutes({
      ...ports.api,
      authenticate: callersBy(ports.authenticate),
      urls,
      settings: httpSettings(config),
      clock,
      logger,
      logWindows: new LogWindows(clock),
      metrics: ports.httpMetrics,
      chaos: ports.chaos && restChaos(ports.chaos, clock),
      recorder: ports.recorder,
    }),
    wellKnownRoutes(origin),
    documentRoutes({
      '/openapi.json': () => openApi(VERSION, `${origin()}/api/v10`),
      '/asyncapi.json': () => asyncApi(VERSION, socketUrlOf(origin())),
    }),
    cdnRoutes({
      ...{ blobs: ports.blobs, signer: ports.signer, pictures: ports.pictures },
      signaturesRequired: config.attachment_signatures_required,
      clock,
      logger,
    }),
    pageRoutes(pagesOver(ports, origin), PAGES),
    ...paymentRoutes(ports),
    ...(config.playground
      ? [playgroundRoutes({ ...pagesOver(ports, origin), codes: ports.signInCodes })]
      : []),
    ...(ports.voice ? [ports.voice.routes.onMainPort] : []),
    ...(config.docs ? [docsRoutes(builtDocsFolder())] : []),
    ...(servesWeb(config)
      ? [webRoutes(builtWebFolder(), { frames: ports.activityOrigins, isHome: config.playground })]
      : []),
    install,
  ];
};

/** The endpoint of the payment provider's messages, where one is configured. */
function paymentRoutes({ config, features, clock, onFault }: NetworkPorts): Installer[] {
  const stripe = stripeOf(config);
  if (stripe === null) return [];
  const { secret } = stripe;
  const { trust_proxy: trustProxy } = config;
  return [
    stripeWebhook({
      ...{ notice: features.premium.payments.notice, secret, trustProxy, clock },
      nowMs: () => systemClock.now(),
      requestTimeoutMs: config.request_timeout_ms,
      onFault: (error) => onFault(error, 'payments'),
    }),
  ];
}

function gatewayDeps({
  config,
  lifetime,
  wheel,
  clock,
  openFiles,
  sessions,
  watch,
  chaos,
  recorder,
  onFault,
}: NetworkPorts): GatewayDeps {
  return {
    settings: {
      socketsMax: config.sockets_max,
      openFiles,
      socketsPerIpMax: config.sockets_per_ip_max,
      trustProxy: config.trust_proxy,
      heartbeatIntervalMs: config.heartbeat_interval_ms,
      heartbeatGraceMs: config.heartbeat_grace_ms,
      identifyTimeoutMs: config.identify_timeout_ms,
      closeGraceMs: CLOSE_GRACE_MS,
      socketBufferBytesMax: config.socket_buffer_bytes_max,
    },
    port: {
      identify: (identify, sink) => lifetime.run(sessions.identify(identify, sink)),
      resume: (resume, sink) => lifetime.run(sessions.resume(resume, sink)),
    },
    newAllowance: () => new Allowance(),
    wheel,
    realTime: systemClock,
    clock,
    onFault: (error) => onFault(error, 'gateway'),
    ...{ watch, chaos, recorder },
    sharesHistory: config.gateway_shared_history,
    beforeFlush: sessions.journal && (() => sessions.journal?.flush()),
  };
}

const httpSettings = (config: Foundation['config']): ApiSettings => ({
  bodyBytesMax: config.request_bytes_max,
  bodies: bodyMemoryBounds(config.request_bytes_max),
  fileBytesMax: config.upload_bytes_max,
  // The guild's tier and the person's premium type decide below it.
  raisedFileBytesMax: config.request_bytes_max,
  requestTimeoutMs: config.request_timeout_ms,
  trustProxy: config.trust_proxy,
});

/** Dependencies of the served pages. */
function pagesOver(ports: NetworkPorts, publicUrl: () => string): PagesDeps {
  const { config, features, storage, clock } = ports;
  return {
    accounts: features.accounts,
    oauth: features.oauth,
    applications: storage.applications,
    ...{ store: features.store, catalog: features.catalog },
    publicUrl,
    fixedUrl: config.public_url,
    requestTimeoutMs: config.request_timeout_ms,
    trustProxy: config.trust_proxy,
    watch: ports.watch,
    take: formLimits(config.rate_limits, () => clock.monotonic()),
    randomBytes: ports.randomBytes,
    clock,
    logger: ports.logger,
  };
}
