import { hostname } from 'node:os';
import type { Engine } from '../../embedding.ts';
import type { AdminRequest } from './port.ts';
import { type AdminAnswer, AdminError } from './route.ts';

/** The answer of `POST /cluster/shards/<id>/drain`: draining has started in this process. */
interface DrainBegun {
  readonly id: string;
  readonly pid: number | null;
}

const SHARD_PATH = /^\/cluster\/shards\/([a-z0-9][a-z0-9-]{0,62})\/(drain|start)$/;
const FORWARD_TIMEOUT_MS = 5_000;

/** The shard and the action that a path names; null for another path. */
export function shardPath(path: string): { readonly id: string; readonly verb: 'drain' | 'start' } | null {
  const [, id, verb] = SHARD_PATH.exec(path) ?? [];
  return id === undefined ? null : { id, verb: verb as 'drain' | 'start' };
}

export const unknownShard = (id: string): AdminError =>
  new AdminError(404, 'unknown_shard', `Unknown shard: ${id}. GET /cluster lists the shards.`);

/**
 * Drains a shard and ends its process. A request for another shard is forwarded to that shard. @returns null for other
 * requests.
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
    const message = 'This server is a single process, so no other shard can take over: stop it instead.';
    throw new AdminError(409, 'alone', message);
  }
  const { id, pid, host, admin_url: url } = shard;
  if (pid !== process.pid || host !== hostname()) return forwarded(request, id, url);
  drain();
  return { status: 202, body: { id, pid } satisfies DrainBegun };
}

/** Forwards the request to the shard, with the caller's token. */
async function forwarded(
  { target, authorization }: AdminRequest,
  id: string,
  url: string | null,
): Promise<AdminAnswer> {
  if (url === null)
    throw new AdminError(409, 'no_admin_url', `${id} serves no admin API to forward the request to.`);
  const response = await fetch(url + target, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{}',
    signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
  }).catch(() => null);
  const body: unknown = await response?.json().catch(() => null);
  if (!response || !body) throw new AdminError(503, 'unreachable', `${id} did not answer at ${url}.`);
  return { status: response.status, body };
}
