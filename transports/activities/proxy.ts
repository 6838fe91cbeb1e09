import type { HttpRequest, HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import { networkOf } from '../../protocol/addresses.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { listenOn } from '../http/server.ts';
import { uWS } from '../http/uws.ts';
import { forward, jsonHeaders, refusalBody, TARGET_REASON } from './forward.ts';
import { type HeaderLines, isFramed, linesOf, type PagePolicy, securityHeaders } from './headers.ts';
import { Inbound } from './inbound.ts';
import { askedFor, innerPath, Origins } from './origins.ts';
import { RELAY_PAGE, RELAY_PATH, relayHeaders } from './relay.ts';
import { Shares } from './shares.ts';
import { type Site, type SiteSettings, Sites } from './sites.ts';
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
  /** What the application has mapped a path to; null for nothing. */
  readonly targetOf: (id: ApplicationId, path: string) => Promise<Target | null>;
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

/** What all answers of an application's origin have in common. */
interface Page {
  readonly id: ApplicationId;
  readonly policy: PagePolicy;
  readonly headers: HeaderLines;
}

/** Requests and WebSockets of pages: what of them is admitted, and where it goes. */
class Requests {
  readonly origins: Origins;
  readonly sockets: Sockets;
  readonly #options: ActivityProxyOptions;
  readonly #bounds: typeof BOUNDS;
  readonly #sites: Sites;
  readonly #networks: Shares;
  readonly #exchanges: Shares;
  readonly #openSockets: Shares;
  readonly #pages = new Map<string, Page>();

  constructor(options: ActivityProxyOptions) {
    const bounds = { ...BOUNDS, ...options.bounds };
    this.#options = options;
    this.#bounds = bounds;
    this.origins = new Origins(options.baseUrl);
    this.sockets = new Sockets(bounds);
    this.#sites = new Sites(options, bounds.targetMs);
    this.#networks = new Shares(bounds.connections, bounds.perNetwork);
    this.#exchanges = new Shares(bounds.exchanges, bounds.exchangesPerApplication);
    this.#openSockets = new Shares(bounds.sockets, bounds.socketsPerApplication);
  }

  close(): void {
    this.sockets.close();
    this.#sites.close();
  }

  request(res: HttpResponse, req: HttpRequest): void {
    const inbound = new Inbound(res, req);
    this.#guard(inbound, this.#request(inbound));
  }

  /** @param upgraded Is called when the connection has become a WebSocket. */
  upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t, upgraded: () => void): void {
    const inbound = new Inbound(res, req);
    this.#guard(inbound, this.#upgrade(inbound, context, upgraded));
  }

  async #request(inbound: Inbound): Promise<void> {
    if (!this.#admit(inbound)) return refuse(inbound, 503, NETWORK_BUSY);
    const page = this.#pageOf(inbound);
    if (!page) return refuse(inbound, 404, 'There is no activity at this address.');
    const { id, headers, policy } = page;
    // A proxy forwards no CONNECT, and TRACE would show what the target receives.
    if (inbound.method === 'CONNECT' || inbound.method === 'TRACE')
      return refuse(inbound, 405, 'This method is not passed on.', headers);
    if (!isFramed(inbound.headers))
      return refuse(inbound, 400, 'The length of the body is unclear.', headers);
    const asked = askedFor(inbound.target, policy.self);
    if (asked?.path === RELAY_PATH && (inbound.method === 'GET' || inbound.method === 'HEAD'))
      return answerRelay(inbound, policy);
    // A worker would stay when the mappings change, and could answer in the place of the relay.
    if (inbound.headers.has('service-worker'))
      return refuse(inbound, 403, 'Activities cannot have service workers.', headers);
    const { requestBytesMax, answerBytesMax = ANSWER_BYTES_MAX } = this.#options;
    if (Number(inbound.headers.get('content-length') ?? 0) > requestBytesMax)
      return refuse(inbound, 413, 'The body is too large.', headers);
    const body = inbound.body(requestBytesMax, () => {
      refuse(inbound, 413, 'The body is too large.', headers);
      inbound.break();
    });
    const target = asked && (await this.#options.targetOf(id, innerPath(asked.path)));
    if (!target) return refuse(inbound, 404, NOT_MAPPED, headers);
    const site = this.#siteOf(inbound, target, this.#exchanges, id, headers);
    if (!site) return;
    forward(
      { inbound, asked, body, site, path: target.path, self: policy.self, headers },
      { answerBytesMax, exchangeMs: this.#bounds.exchangeMs },
    );
  }

  async #upgrade(inbound: Inbound, context: us_socket_context_t, upgraded: () => void): Promise<void> {
    if (!this.#admit(inbound)) return refuse(inbound, 503, NETWORK_BUSY);
    const page = this.#pageOf(inbound);
    const asked = page && askedFor(inbound.target, page.policy.self);
    // Any page may open a WebSocket to any host: only the application's own pages may open these.
    if (!page || !asked || inbound.headers.get('origin') !== page.policy.self.origin)
      return refuse(inbound, 403, 'Only pages of the activity may open its WebSockets.');
    const target = await this.#options.targetOf(page.id, innerPath(asked.path));
    if (!target) return refuse(inbound, 404, NOT_MAPPED);
    const site = this.#siteOf(inbound, target, this.#openSockets, page.id, []);
    if (!site) return;
    const refused = (status: number) => refuse(inbound, status, TARGET_REASON);
    this.sockets.open({ inbound, context, asked, site, path: target.path, refuse: refused, upgraded });
  }

  /** The site of a target, with a share of the application for the request; null when it has been refused. */
  #siteOf(
    inbound: Inbound,
    { host }: Target,
    shares: Shares,
    id: ApplicationId,
    headers: HeaderLines,
  ): Site | null {
    const site = this.#sites.of(host);
    if (!site) {
      refuse(inbound, 502, TARGET_REASON, headers);
      return null;
    }
    if (this.#take(inbound, shares, id)) return site;
    refuse(inbound, 503, 'The activity has too much under way.', headers);
    return null;
  }

  /** Bounds what each network has under way; behind a trusted proxy, each network that it names. */
  #admit(inbound: Inbound): boolean {
    const address = inbound.address(this.#options.trustProxy);
    return this.#take(inbound, this.#networks, networkOf(address));
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
    const page = { id, policy, headers: linesOf(securityHeaders(policy)) };
    this.#pages.set(host, page);
    dropOldest(this.#pages, PAGES_MAX);
    return page;
  }

  #guard(inbound: Inbound, passing: Promise<void>): void {
    passing.catch((error: unknown) => {
      this.#options.onFault(error);
      if (inbound.hasStarted) inbound.break();
      else refuse(inbound, 503, 'The activity cannot be served now.');
    });
  }
}

const NOT_MAPPED = 'Nothing is mapped to this path.';
const NETWORK_BUSY = 'Your network has too much under way.';

function answerRelay(inbound: Inbound, policy: PagePolicy): void {
  const [page, hasBody] = [Buffer.from(RELAY_PAGE), inbound.method !== 'HEAD'];
  inbound.start({ status: 200, headers: linesOf(relayHeaders(policy)), bytes: page.length, hasBody });
  if (hasBody) inbound.write(page);
  else inbound.end();
}

const refuse = (inbound: Inbound, status: number, message: string, headers: HeaderLines = []): void =>
  inbound.refuse(status, jsonHeaders(headers), refusalBody(message));
