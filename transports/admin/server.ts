import type { Clock } from '../../actors/runtime/clock.ts';
import type { Engine } from '../../embedding.ts';
import { isSnowflake } from '../../protocol/ids.ts';
import { createLogTail, type LogTail } from '../../protocol/logtail.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import { drainRoute, shardPath } from './cluster.ts';
import { createConsole } from './console.ts';
import { keepHistory } from './history.ts';
import {
  type AdminPortOptions,
  type AdminRequest,
  type AdminServer,
  errorStatus,
  jsonOf,
  openAdminPort,
} from './port.ts';
import { type AdminAnswer, AdminError, NO_ID, type Operated } from './route.ts';
import { findRoute } from './routes.ts';
import { callOperation, type Watched, watched } from './watching.ts';

export type { AdminServer } from './port.ts';

interface AdminServerOptions
  extends Pick<AdminPortOptions, 'host' | 'port' | 'token' | 'tokens' | 'names' | 'logger'> {
  readonly engine: Operated & Pick<Engine, 'metrics' | 'unready'> & Partial<Pick<Engine, 'security'>>;
  readonly clock: Clock;
  readonly version?: string;
  /** Settings in force, secrets masked; for the console. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The newest lines of the log; for the console. */
  readonly log?: LogTail;
  /** Starts the shutdown of this process, as SIGTERM does; drains a shard. Absent when it cannot be drained. */
  readonly drain?: () => void;
}

/** An admin server with the console. */
export interface ConsoleServer extends AdminServer {
  /** A link that signs a browser in to the console, once. */
  consoleLink(): string;
}

/**
 * Opens the admin port: `/livez`, `/readyz`, `/metrics` and the files of the console are public, all other paths need the
 * admin token.
 *
 * @throws Error when the port cannot be bound.
 */
export async function openAdminServer(options: AdminServerOptions): Promise<ConsoleServer> {
  const { engine, clock, version = '', settings = {}, log = createLogTail() } = options;
  const page = createConsole(() => clock.monotonic());
  const trail = createLogTail();
  const history = keepHistory({ read: async () => engine.metrics(), clock });
  const watching: Watched = { engine, version, history, settings, log, trail };
  const security: SecurityTrail = (event, fields) => {
    trail.add(JSON.stringify({ time: clock.now(), event, ...fields }));
    engine.security?.(event, fields);
  };
  const server = await openAdminPort({
    ...options,
    security,
    sessions: page.sessions,
    open: async (request) =>
      page.open(request) ?? (request.method === 'GET' ? healthOf(request.path, engine) : null),
    answer: (request) => answer(request, { ...options, security }, watching),
  }).catch((error: unknown) => {
    history.close();
    throw error;
  });
  return {
    ...server,
    consoleLink: () => page.signInLink(server.url),
    close() {
      history.close();
      return server.close();
    },
  };
}

type Noted = AdminServerOptions & { readonly security: SecurityTrail };

async function answer(request: AdminRequest, options: Noted, watching: Watched): Promise<AdminAnswer> {
  const { method, path, query, tokenName } = request;
  const note: Note = (what, { id = null, userId = null }, status) =>
    options.security('admin_change', { token_name: tokenName, what, id, user_id: userId, status });
  const drained = await drainRoute(request, { ...options, ...notedDrain(request, options, note) });
  if (drained !== null) return drained;
  if (method === 'POST' && path === '/operations') {
    const asked = await jsonOf(request);
    const called = await callOperation(asked, watching);
    note(called.what ?? path, { userId: idIn(asked, 'as') }, called.status);
    return called;
  }
  const seen = method === 'GET' ? await watched(path, query, watching) : null;
  if (seen !== null) return seen;
  const found = findRoute(method, path);
  if ('methods' in found) {
    if (found.methods.length === 0) throw new AdminError(404, 'not_found', `Unknown path: ${path}.`);
    throw new AdminError(405, 'method_not_allowed', `${path} supports only ${found.methods.join(' and ')}.`);
  }
  const body = method === 'POST' ? await jsonOf(request) : undefined;
  const { route, id } = found;
  const handle = () => route.handle(options.engine, { id, query, body });
  if (method !== 'POST') return handle();
  const what = `POST ${route.path}`;
  const named = { id: id === NO_ID ? null : id, userId: idIn(body, 'user_id') };
  try {
    const answered = await handle();
    note(what, named, answered.status);
    return answered;
  } catch (error) {
    note(what, named, errorStatus(error));
    throw error;
  }
}

/** Writes a change to the trail: the id in its path, and the user that it names or acts as. */
type Note = (
  what: string,
  about: { readonly id?: string | null; readonly userId?: string | null },
  status: number,
) => void;

/** The id under a key of a body that was not validated yet; null for anything else, which the trail must not hold. */
function idIn(body: unknown, key: 'as' | 'user_id'): string | null {
  const given = typeof body === 'object' && body !== null ? String(Reflect.get(body, key)) : '';
  return isSnowflake(given) ? given : null;
}

/** Lets the drained shard itself record the event, whichever shard got the request. */
function notedDrain(
  { path }: AdminRequest,
  { drain }: AdminServerOptions,
  note: Note,
): Pick<AdminServerOptions, 'drain'> {
  if (!drain) return {};
  const noted = () => {
    note('POST /cluster/shards/:id/drain', { id: shardPath(path)?.id ?? null }, 202);
    drain();
  };
  return { drain: noted };
}

/** Answers probes and scrapers; null for any other path. */
async function healthOf(path: string, engine: AdminServerOptions['engine']): Promise<AdminAnswer | null> {
  if (path === '/livez') return { status: 200, body: { alive: true } };
  if (path === '/metrics') return { status: 200, body: await engine.metrics() };
  if (path !== '/readyz') return null;
  const reasons = await engine.unready();
  const ready = Object.keys(reasons).length === 0;
  return { status: ready ? 200 : 503, body: { ready, reasons } };
}
