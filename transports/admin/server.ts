import type { Engine } from '../../embedding.ts';
import { drainRoute, shardPath } from './cluster.ts';
import {
  type AdminPortOptions,
  type AdminRequest,
  type AdminServer,
  errorStatus,
  jsonOf,
  openAdminPort,
} from './port.ts';
import { type AdminAnswer, AdminError, type Operated } from './route.ts';
import { findRoute } from './routes.ts';

export type { AdminServer } from './port.ts';

interface AdminServerOptions
  extends Pick<AdminPortOptions, 'host' | 'port' | 'token' | 'tokens' | 'names' | 'logger'> {
  readonly engine: Operated & Pick<Engine, 'metrics' | 'unready'> & Partial<Pick<Engine, 'security'>>;
  /** Starts the shutdown of this process, as SIGTERM does; drains a shard. Absent when it cannot be drained. */
  readonly drain?: () => void;
}

/**
 * Opens the admin port: `/livez`, `/readyz` and `/metrics` are public, all other paths need the admin token.
 *
 * @throws Error when the port cannot be bound.
 */
export const openAdminServer = (options: AdminServerOptions): Promise<AdminServer> =>
  openAdminPort({
    ...options,
    ...(options.engine.security && { security: options.engine.security }),
    open: async ({ method, path }) => (method === 'GET' ? healthOf(path, options.engine) : null),
    answer: (request) => answer(request, options),
  });

async function answer(request: AdminRequest, options: AdminServerOptions): Promise<AdminAnswer> {
  const { method, path, query, tokenName } = request;
  const note = (what: string, id: string | null, status: number): void =>
    options.engine.security?.('admin_change', { token_name: tokenName, what, id, status });
  const drained = await drainRoute(request, { ...options, ...notedDrain(request, options, note) });
  if (drained !== null) return drained;
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
  const named = id === '' ? null : id;
  try {
    const answered = await handle();
    note(what, named, answered.status);
    return answered;
  } catch (error) {
    note(what, named, errorStatus(error));
    throw error;
  }
}

/** Lets the drained shard itself record the event, whichever shard got the request. */
function notedDrain(
  { path }: AdminRequest,
  { drain }: AdminServerOptions,
  note: (what: string, id: string | null, status: number) => void,
): Pick<AdminServerOptions, 'drain'> {
  if (!drain) return {};
  const noted = () => {
    note('POST /cluster/shards/:id/drain', shardPath(path)?.id ?? null, 202);
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
