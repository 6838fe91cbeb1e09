import { hostname } from 'node:os';
import type { Engine } from '../../embedding.ts';
import type { AdminRequest } from './port.ts';
import { type AdminAnswer, AdminError } from './route.ts';

/** What `POST /cluster/shards/<id>/drain` answers: it has begun, in that process. */
interface DrainBegun {
  readonly id: string;
  readonly pid: number | null;
}

const SHARD_PATH = /^\/cluster\/shards\/([a-z0-9][a-z0-9-]{0,62})\/(drain|start)$/;
const FORWARD_TIMEOUT_MS = 5_000;

/** The shard that a path names, and what is to be done with it; null when it is another path. */
export function shardPath(path: string): { readonly id: string; readonly verb: 'drain' | 'start' } | null {
  const [, id, verb] = SHARD_PATH.exec(path) ?? [];
  return id === undefined ? null : { id, verb: verb as 'drain' | 'start' };
}

export const unknownShard = (id: string): AdminError =>
  new AdminError(404, 'unknown_shard', `There is no shard ${id}; GET /cluster lists those there are.`);

/**
 * Empties a shard and ends its process; on whichever shard it is asked, it is done on the one that is meant. Null when
 * the request is for something else.
 */
export async function drainRoute(
  request: AdminRequest,
  { engine, drain }: { readonly engine: Pick<Engine, 'cluster'>; readonly drain?: () => void },
): Promise<AdminAnswer | null> {
  const named = shardPath(request.path);
  if (named?.verb !== 'drain') return null;
  if (request.method !== 'POST') throw new AdminError(405, 'method_not_allowed', 'Drain a shard with POST.');
  const { shards, cluster_id: clusterId } = await engine.cluster.status();
  const shard = shards.find(({ id }) => id === named.id);
  if (!shard) throw unknownShard(named.id);
  if (clusterId === null || !drain) {
    const message = 'This server is one process and there is nobody to take over from it: stop it instead.';
    throw new AdminError(409, 'alone', message);
  }
  const { id, pid, host, admin_url: url } = shard;
  if (pid !== process.pid || host !== hostname()) return forwarded(request, id, url);
  drain();
  return { status: 202, body: { id, pid } satisfies DrainBegun };
}

/** Asks the shard itself, with the token of who asked. */
async function forwarded(
  { target, authorization }: AdminRequest,
  id: string,
  url: string | null,
): Promise<AdminAnswer> {
  if (url === null) throw new AdminError(409, 'no_admin_url', `${id} serves no admin API to be asked at.`);
  const response = await fetch(url + target, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{}',
    signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
  }).catch(() => null);
  const body: unknown = await response?.json().catch(() => null);
  if (!response || !body) throw new AdminError(503, 'unreachable', `${id} does not answer at ${url}.`);
  return { status: response.status, body };
}
