import type { HttpRequest, HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { Readable } from 'node:stream';
import type { ApplicationId } from '../../protocol/ids.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { listenOn } from '../http/server.ts';
import { uWS } from '../http/uws.ts';
import { forward, refusalOf, TARGET_REASON } from './forward.ts';
import {
  isFramed,
  type OwnHeaders,
  ownHeaders,
  type PagePolicy,
  securityHeaders,
  wantsUpgrade,
} from './headers.ts';
import { Inbound } from './inbound.ts';
import { Networks } from './networks.ts';
import { askedFor, innerPath, Origins, type RequestTarget } from './origins.ts';
import { RELAY_PAGE, RELAY_PATH, relayHeaders } from './relay.ts';
import { Shares } from './shares.ts';
import { type ProxyTarget, type SiteSettings, Sites } from './sites.ts';
import { Sockets } from './sockets.ts';

/** Where a request goes: a host with an optional port, and a path. */
interface Target {
  readonly host: string;
  readonly path: string;
}

interface ActivityProxyOptions extends SiteSettings {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The URL before whose host an application's id stands, as https://activities.example.org. */
  readonly baseUrl: string;
  /** The origin of this server's API and images. */
  readonly server: () => string;
  /** Source expressions of further pages that may embed activities. */
  readonly embedders: readonly string[];
  /** Whether a proxy in front names the client in X-Forwarded-For. */
  readonly trustProxy: boolean;
  readonly requestBytesMax: number;
  /** Default: 1 GiB. */
  readonly answerBytesMax?: number;
  /** Other bounds than the usual ones, in a test. */
  readonly bounds?: Partial<typeof BOUNDS>;
  /** The target to which the application has mapped a path; null for none. */
  readonly targetOf: (id: ApplicationId, path: string) => Target | null | Promise<Target | null>;
  readonly onFault: (error: unknown) => void;
}

export interface ActivityProxy {
  readonly port: number;
  /** A source expression for the origins of all activities. */
  readonly origins: string;
  /** The origin of an application's activity. */
  originOf(id: ApplicationId): string;
  close(): Promise<void>;
}

const ANSWER_BYTES_MAX = 1 << 30;
const BOUNDS = {
  connections: 8_000,
  /** Requests and WebSockets under way. */
  perNetwork: 256,
  exchanges: 4_000,
  exchangesPerApplication: 400,
  /** More than exchanges, so that those never lack one. */
  targetConnections: 4_096,
  sockets: 4_000,
  socketsPerApplication: 1_000,
  /** Timeout of a target for a connection, and for the first and each further part of its answer. */
  targetMs: 30_000,
  exchangeMs: 900_000,
  /** A WebSocket on which nothing passes ends. */
  socketIdleMs: 300_000,
};
/** Applications whose headers are kept. */
const PAGES_MAX = 1_000;

/**
 * Serves the activities of all applications, each on an origin of its own: what a path is mapped to, over HTTP and
 * WebSocket. It stands apart from the API: nothing of ours is on these origins but the relay.
 *
 * @throws Error when the address cannot be bound.
 */
export async function openActivityProxy(options: ActivityProxyOptions): Promise<ActivityProxy> {
  const app = uWS.App();
  const requests = new Requests(options);
  const { connections } = { ...BOUNDS, ...options.bounds };
  let open = 0;
  const counted = (res: HttpResponse, change: number) => {
    open += change;
    if (open > connections) res.close();
  };
  app.filter((res, change) => counted(res, Number(change)));
  app.ws('/*', {
    ...requests.sockets.behavior(),
    upgrade: (res, req, context) => {
      requests.upgrade(res, req, context, () => {
        open -= 1;
      });
    },
  });
  app.any('/*', (res, req) => requests.request(res, req));
  const { origins } = requests;
  origins.port = uWS.us_socket_local_port(await listenOn(app, options.host, options.port));
  return {
    port: origins.port,
    origins: origins.all(),
    originOf: (id) => origins.of(id).origin,
    close: async () => {
      requests.close();
      app.close();
    },
  };
}

/** Values that all answers of an application's origin have in common. */
interface Page {
  readonly id: ApplicationId;
  readonly policy: PagePolicy;
  readonly own: OwnHeaders;
}

/** Requests and WebSockets of pages: what of them is admitted, and where it goes. */
class Requests {
  readonly origins: Origins;
  readonly sockets: Sockets;
  readonly #options: ActivityProxyOptions;
  readonly #sites: Sites;
  readonly #networks: Networks;
  readonly #exchanges: Shares;
  readonly #openSockets: Shares;
  readonly #pages = new Map<string, Page>();

  constructor(options: ActivityProxyOptions) {
    const bounds = { ...BOUNDS, ...options.bounds };
    this.#options = options;
    this.origins = new Origins(options.baseUrl);
    this.sockets = new Sockets(bounds);
    this.#sites = new Sites(options, bounds);
    this.#networks = new Networks(bounds.connections, bounds.perNetwork, options.trustProxy);
    this.#exchanges = new Shares(bounds.exchanges, bounds.exchangesPerApplication);
    this.#openSockets = new Shares(bounds.sockets, bounds.socketsPerApplication);
  }

  close(): void {
    this.sockets.close();
    this.#sites.close();
  }

  request(res: HttpResponse, req: HttpRequest): void {
    const inbound = new Inbound(res, req);
    try {
      refuseIf(inbound, this.#request(inbound));
    } catch (error) {
      this.#failed(inbound, error);
    }
  }

  /** @param upgraded Is called when the connection has become a WebSocket. */
  upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t, upgraded: () => void): void {
    const inbound = new Inbound(res, req);
    this.#upgrade(inbound, context, upgraded).catch((error: unknown) => this.#failed(inbound, error));
  }

  #request(inbound: Inbound): Refused | null {
    if (!this.#networks.admit(inbound, false)) return [503, NETWORK_BUSY, null];
    const page = this.#pageOf(inbound);
    if (!page) return [404, 'There is no activity at this address.', null];
    const { own, policy } = page;
    const refusal = refusalBefore(inbound, this.#options.requestBytesMax);
    if (refusal) return [...refusal, own];
    const asked = askedFor(inbound.target, policy.self);
    if (asked?.path === RELAY_PATH && (inbound.method === 'GET' || inbound.method === 'HEAD')) {
      answerRelay(inbound, policy);
      return null;
    }
    if (!asked) return [404, NOT_MAPPED, own];
    const body = inbound.body(this.#options.requestBytesMax, () => {
      refuse(inbound, ...TOO_LARGE, own);
      inbound.break();
    });
    const request = { inbound, page, asked, body };
    // Known mappings, which most requests are for, are looked up without a promise.
    const target = this.#options.targetOf(page.id, innerPath(asked.path));
    if (!(target instanceof Promise)) return this.#forward(request, target);
    target
      .then((found) => refuseIf(inbound, this.#forward(request, found)))
      .catch((error: unknown) => this.#failed(inbound, error));
    return null;
  }

  #forward({ inbound, page, asked, body }: Mapped, target: Target | null): Refused | null {
    const { id, own, policy } = page;
    if (!target) return [404, NOT_MAPPED, own];
    const site = this.#siteOf(inbound, target, this.#exchanges, id, own);
    const { answerBytesMax = ANSWER_BYTES_MAX } = this.#options;
    if (site)
      forward({
        inbound,
        asked,
        body,
        proxyTarget: site,
        path: target.path,
        self: policy.self,
        own,
        answerBytesMax,
      });
    return null;
  }

  async #upgrade(inbound: Inbound, context: us_socket_context_t, upgraded: () => void): Promise<void> {
    if (!this.#networks.admit(inbound, true)) return refuse(inbound, 503, NETWORK_BUSY);
    if (!wantsUpgrade(inbound.headers)) return refuse(inbound, 400, 'The connection is not to be upgraded.');
    const page = this.#pageOf(inbound);
    const asked = page && askedFor(inbound.target, page.policy.self);
    // Any page may open a WebSocket to any host: only the application's own pages may open these.
    if (!page || !asked || inbound.headers.get('origin') !== page.policy.self.origin)
      return refuse(inbound, 403, 'Only pages of the activity may open its WebSockets.');
    const target = await this.#options.targetOf(page.id, innerPath(asked.path));
    if (!target) return refuse(inbound, 404, NOT_MAPPED);
    const site = this.#siteOf(inbound, target, this.#openSockets, page.id, null);
    if (!site) return;
    const refused = (status: number) => refuse(inbound, status, TARGET_REASON);
    this.sockets.open({
      inbound,
      context,
      asked,
      proxyTarget: site,
      path: target.path,
      refuse: refused,
      upgraded,
    });
  }

  /** The site of a target, with a share of the application for the request; null when it has been refused. */
  #siteOf(
    inbound: Inbound,
    { host }: Target,
    shares: Shares,
    id: ApplicationId,
    own: OwnHeaders | null,
  ): ProxyTarget | null {
    const site = this.#sites.of(host);
    if (!site) {
      refuse(inbound, 502, TARGET_REASON, own);
      return null;
    }
    if (this.#take(inbound, shares, id)) return site;
    refuse(inbound, 503, 'The activity has too much under way.', own);
    return null;
  }

  #take(inbound: Inbound, shares: Shares, key: string): boolean {
    const giveBack = shares.take(key);
    if (giveBack) inbound.onOver(giveBack);
    return giveBack !== null;
  }

  /** The page of the host that is asked for; null for a host of no application. */
  #pageOf({ headers }: Inbound): Page | null {
    const host = headers.get('host') ?? '';
    const server = this.#options.server();
    const found = this.#pages.get(host);
    if (found?.policy.server === server) return found;
    const id = this.origins.idOf(host);
    if (id === null) return null;
    const policy = {
      ...{ self: this.origins.of(id), server },
      embedders: [server, ...this.#options.embedders],
    };
    const page = { id, policy, own: ownHeaders(securityHeaders(policy)) };
    this.#pages.set(host, page);
    dropOldest(this.#pages, PAGES_MAX);
    return page;
  }

  #failed(inbound: Inbound, error: unknown): void {
    this.#options.onFault(error);
    if (inbound.hasStarted) inbound.break();
    else refuse(inbound, 503, 'The activity is unavailable. Try again in a moment.');
  }
}

/** Why a request is refused: a status, a message, and headers of the origin. */
type Refused = readonly [number, string, OwnHeaders | null];

/** A request whose path is looked up. */
interface Mapped {
  readonly inbound: Inbound;
  readonly page: Page;
  readonly asked: RequestTarget;
  readonly body: Readable | null;
}

const NOT_MAPPED = 'Nothing is mapped to this path.';
const NETWORK_BUSY = 'Your network has too much under way.';
const TOO_LARGE = [413, 'The body is too large.'] as const;

/** Why a request is not passed on, whatever it asks for. */
function refusalBefore({ method, headers }: Inbound, bytesMax: number): readonly [number, string] | null {
  // A proxy forwards no CONNECT, and TRACE would show what the target receives.
  if (method === 'CONNECT' || method === 'TRACE') return [405, 'This method is not passed on.'];
  if (!isFramed(headers)) return [400, 'The length of the body is unclear.'];
  // A worker would stay when the mappings change, and could answer in the place of the relay.
  if (headers.has('service-worker')) return [403, 'Activities cannot have service workers.'];
  return Number(headers.get('content-length') ?? 0) > bytesMax ? TOO_LARGE : null;
}

function answerRelay(inbound: Inbound, policy: PagePolicy): void {
  const [page, hasBody] = [Buffer.from(RELAY_PAGE), inbound.method !== 'HEAD'];
  inbound.start({
    status: 200,
    own: ownHeaders(relayHeaders(policy)),
    headers: '',
    bytes: page.length,
    hasBody,
  });
  if (hasBody) inbound.write(page);
  else inbound.end();
}

const refuse = (inbound: Inbound, status: number, message: string, own: OwnHeaders | null = null): void =>
  inbound.refuse(status, own, refusalOf(message));
function refuseIf(inbound: Inbound, refused: Refused | null): void {
  if (refused) refuse(inbound, ...refused);
}
