import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ClusterStatus, ShardStatus } from '../../embedding.ts';
import { compareIds } from '../../protocol/ids.ts';
import { codeOf } from '../../protocol/thrown.ts';
import type { CallPage } from './calls.ts';
import { shardPath, unknownShard } from './cluster.ts';
import { createConsole } from './console.ts';
import { mergedMetrics } from './exposition.ts';
import { pageOf } from './page.ts';
import { type AdminPortOptions, type AdminRequest, type AdminServer, jsonOf, openAdminPort } from './port.ts';
import { type AdminAnswer, AdminError } from './route.ts';

/** A shard as its supervisor knows it. */
export interface SupervisedShard {
  readonly id: string;
  /** Null while it has no process. */
  readonly pid: number | null;
  /** URL of its own admin API; null until it serves. */
  readonly adminUrl: string | null;
  /** `silent`: it sends nothing; `down`: it will be restarted; `stopped`: it will not. */
  readonly state: 'starting' | 'serving' | 'silent' | 'draining' | 'down' | 'stopped';
  /** Number of restarts. */
  readonly restarts: number;
}

interface FrontOptions
  extends Pick<AdminPortOptions, 'host' | 'port' | 'token' | 'tokens' | 'names' | 'security'> {
  readonly logger: Pick<Logger, 'error'>;
  readonly version: string;
  /** In the order of their numbers. */
  readonly shards: () => readonly SupervisedShard[];
  /** Drains a shard and ends its process; it is restarted unless `stays` is set. */
  readonly drain: (id: string, stays: boolean) => void;
  /** Starts a stopped shard. */
  readonly start: (id: string) => void;
  /** Metrics of the supervisor itself, as Prometheus text. */
  readonly metrics: () => string;
}

/** A row of `GET /cluster` under a supervisor, which also lists shards without a process. */
export type FrontRow = Omit<ShardStatus, 'pid' | 'state'> & {
  readonly pid: number | null;
  readonly state: ShardStatus['state'] | SupervisedShard['state'];
  readonly restarts: number;
};

export interface FrontStatus extends Omit<ClusterStatus, 'shards'> {
  /** Process id of the supervisor. */
  readonly supervisor_pid: number;
  readonly shards: readonly FrontRow[];
}

const STATUS_TIMEOUT_MS = 3_000;
const PASSED_TIMEOUT_MS = 15_000;

const DrainBody = Compile(
  Type.Object({ stop: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
);

/**
 * The admin port of a supervisor: one address for all its shards, available whatever their state. `/cluster`, health and
 * metrics cover all shards; every other request is forwarded to a shard that answers.
 *
 * @throws Error when the port cannot be bound.
 */
export const openFront = (options: FrontOptions): Promise<AdminServer> => {
  const page = createConsole(() => performance.now());
  return openAdminPort({
    ...options,
    open: async (request) =>
      page.open(request) ?? (request.method === 'GET' ? healthOf(request.path, options) : null),
    answer: (request) => answer(request, options),
  });
};

async function healthOf(path: string, options: FrontOptions): Promise<AdminAnswer | null> {
  if (path === '/livez') return { status: 200, body: { alive: true } };
  if (path === '/metrics') {
    const texts = await ofAll(options, path, (response) => response.text());
    const shards = texts.map(({ id, value }) => ({ shard: id, text: value ?? '' }));
    return { status: 200, body: mergedMetrics(options.metrics(), shards) };
  }
  if (path !== '/readyz') return null;
  type Readiness = { readonly ready: boolean; readonly reasons: Readonly<Record<string, string>> };
  const answers = await ofAll(options, path, (response) => response.json() as Promise<Readiness>);
  const ready = answers.some(({ value }) => value?.ready === true);
  const reasonOf = (value: Readiness | null) =>
    value === null ? 'The shard did not answer.' : Object.values(value.reasons).join(' ');
  const unready = answers.filter(({ value }) => value?.ready !== true);
  const reasons = Object.fromEntries(unready.map(({ id, value }) => [id, reasonOf(value)]));
  // One ready shard is enough to serve; the reasons of the others are reported all the same.
  return { status: ready ? 200 : 503, body: { ready, reasons } };
}

async function answer(request: AdminRequest, options: FrontOptions): Promise<AdminAnswer> {
  const { method, path } = request;
  const named = shardPath(path);
  if (named !== null) return commanded(request, named, options);
  if (method === 'GET' && path === '/cluster') return { status: 200, body: await statusOf(request, options) };
  if (method === 'GET' && path === '/metrics.json') {
    const merged = await healthOf('/metrics', options);
    return { status: 200, body: { text: merged?.body ?? '' } };
  }
  if (method === 'GET' && path === '/calls') return { status: 200, body: await callsOf(request, options) };
  return passed(request, options);
}

async function commanded(
  request: AdminRequest,
  { id, verb }: { readonly id: string; readonly verb: 'drain' | 'start' },
  { shards, drain, start, security }: FrontOptions,
): Promise<AdminAnswer> {
  if (request.method !== 'POST')
    throw new AdminError(405, 'method_not_allowed', `${verb} a shard with POST.`);
  const shard = shards().find((each) => each.id === id);
  if (!shard) throw unknownShard(id);
  const { pid, state } = shard;
  const body = await jsonOf(request);
  if (!DrainBody.Check(body)) throw new AdminError(400, 'invalid_body', 'The body may hold "stop" only.');
  const isFit = verb === 'start' ? state === 'stopped' : state === 'serving' || state === 'silent';
  if (!isFit) throw new AdminError(409, 'wrong_state', `${id} is ${state}.`);
  if (verb === 'start') start(id);
  else drain(id, body.stop === true);
  const what = `POST /cluster/shards/:id/${verb}`;
  security?.('admin_change', { token_name: request.tokenName, what, id, user_id: null, status: 202 });
  return { status: 202, body: { id, pid } };
}

interface ShardAnswer<Value> {
  readonly id: string;
  /** Null when the shard did not answer. */
  readonly value: Value | null;
}

/** Requests `target` from every shard and reads the answers, whatever their status. */
function ofAll<Value>(
  { shards }: FrontOptions,
  target: string,
  read: (response: Response) => Promise<Value>,
  headers: Record<string, string> = {},
): Promise<ShardAnswer<Value>[]> {
  return Promise.all(
    shards().map(async ({ id, adminUrl }) => {
      if (adminUrl === null) return { id, value: null };
      const value = await fetch(adminUrl + target, {
        headers,
        signal: AbortSignal.timeout(STATUS_TIMEOUT_MS),
      })
        .then(read)
        .catch(() => null);
      return { id, value };
    }),
  );
}

/** The cluster status of the first shard that answers, with the supervisor's state of shards missing from it. */
async function statusOf({ authorization }: AdminRequest, options: FrontOptions): Promise<FrontStatus> {
  const asked = options.shards().map(async ({ adminUrl }): Promise<ClusterStatus> => {
    if (adminUrl === null) throw new Error('The shard does not serve yet.');
    const response = await fetch(`${adminUrl}/cluster`, {
      headers: { authorization },
      signal: AbortSignal.timeout(STATUS_TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`The shard answered ${response.status}.`);
    return (await response.json()) as ClusterStatus;
  });
  const known = await Promise.any(asked).catch(() => null);
  const rows = options.shards().map((shard): FrontRow => {
    const row = known?.shards.find(({ id, pid }) => id === shard.id && pid === shard.pid);
    const { restarts } = shard;
    if (!row) return { ...absent(shard, options.version), restarts };
    const { state } = shard;
    return { ...row, restarts, ...((state === 'draining' || state === 'silent') && { state }) };
  });
  return {
    cluster_id: known?.cluster_id ?? null,
    partitions: known?.partitions ?? 0,
    partitions_unserved: known?.partitions_unserved ?? 0,
    supervisor_pid: process.pid,
    shards: rows,
  };
}

const absent = ({ id, pid, state }: SupervisedShard, version: string): Omit<FrontRow, 'restarts'> => ({
  ...{ id, pid, host: hostname(), address: null, admin_url: null, version },
  // It serves, but is missing from the view of the shard that answered.
  state: state === 'serving' ? 'joining' : state,
  ...{ sessions: null, partitions: 0, epoch_lag_ms: null, journal_bytes: null, link_bytes: null },
  ...{ residents: null, uptime_ms: 0 },
});

/** The calls of all shards; each shard lists its own. */
async function callsOf(
  { target, query, authorization }: AdminRequest,
  options: FrontOptions,
): Promise<CallPage> {
  const { limit } = pageOf(query);
  const read = (response: Response) => response.json() as Promise<CallPage>;
  const answers = await ofAll(options, target, read, { authorization });
  const pages = answers.flatMap(({ value }) => (value?.calls ? [value] : []));
  const calls = pages.flatMap((page) => page.calls);
  return {
    voice: pages.some(({ voice }) => voice),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    calls: calls.sort((one, other) => compareIds(one.call_id, other.call_id)).slice(0, limit),
  };
}

/** The shards that may answer: the one that the query names, or all. */
function addressed({ query }: AdminRequest, { shards }: FrontOptions): readonly SupervisedShard[] {
  const wanted = query.get('shard');
  if (wanted === null) return shards();
  const named = shards().filter(({ id }) => id === wanted);
  if (named.length === 0) throw unknownShard(wanted);
  return named;
}

/** Forwards the request to the addressed shards in turn until one can be reached. */
async function passed(request: AdminRequest, options: FrontOptions): Promise<AdminAnswer> {
  const { method, target, authorization, contentType } = request;
  const able = addressed(request, options);
  const body = method === 'GET' ? null : await request.readBody();
  for (const { adminUrl, state } of able) {
    if (adminUrl === null || state !== 'serving') continue;
    const response = await fetch(adminUrl + target, {
      method,
      headers: { authorization, 'content-type': contentType },
      ...(body && { body: new Uint8Array(body) }),
      signal: AbortSignal.timeout(PASSED_TIMEOUT_MS),
    }).catch((error: Error) => error);
    if (response instanceof Error) {
      if (method === 'GET' || isUnsent(response)) continue;
      const message = 'The shard did not answer; whether it executed the request is unknown.';
      throw new AdminError(503, 'shard_lost', message);
    }
    const text = await response.text();
    return { status: response.status, ...(text !== '' && { body: JSON.parse(text) as unknown }) };
  }
  throw new AdminError(503, 'no_shard', 'No shard is answering; try again in a moment.');
}

const isUnsent = ({ cause }: Error): boolean => codeOf(cause) === 'ECONNREFUSED';
