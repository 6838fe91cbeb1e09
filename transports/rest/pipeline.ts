import type { ApiParams } from '../../embedding.ts';
import type { Authority, SecondFactor } from '../../engine/kernel/authority.ts';
import { ERRORS } from '../../protocol/errors.ts';
import { isSnowflake } from '../../protocol/ids.ts';
import { oauthRefusal } from '../../protocol/oauth.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { type ErrorTree, invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Scopes } from '../../protocol/scopes.ts';
import type { Catalog, CatalogEntry } from './catalog.ts';
import { notSnowflake, REQUIRED } from './explain.ts';
import { type Limits, waitHeaders } from './limits.ts';
import type { Answer, AnyOperation, BasicCredentials, Caller } from './operation.ts';
import { errorBody, type Result } from './result.ts';
import type { Services } from './services.ts';
import { unshared } from './sharedmessages.ts';
import { signAttachments } from './signing.ts';
import type { HookRefusal } from './typed.ts';
import { invalidForm, plainText } from './validate.ts';

/** The caller of an operation, and the request's context. */
export interface CallContext {
  readonly caller: Caller | null;
  /** The HTTP Basic credentials of a client of the authorization server. */
  readonly basic?: BasicCredentials | null;
  /** `X-Audit-Log-Reason`, decoded. */
  readonly reason?: string | null;
  /** Language tags of `X-Discord-Locale` or `Accept-Language`, best first. */
  readonly locales?: readonly string[];
  /** Base URL of this server for clients, without a trailing slash. */
  readonly publicUrl: string;
  /** The peer's address, for rate limits; null exempts the call from all limits (an embedded call). */
  readonly address: string | null;
}

type Invocation = ApiParams & CallContext;

type HookContext = ApiParams & { readonly operationId: string; readonly callerId: string | null };
type Later<T> = T | Promise<T>;

/** Hooks of any operation: as methods, so that a hook of one operation is one of them. */
export type AnyBeforeHook = {
  run(call: HookContext): Later<ApiParams | HookRefusal | undefined>;
}['run'];
export type AnyAfterHook = {
  run(call: HookContext, reply: HookAnswer): Later<HookAnswer | undefined>;
}['run'];

interface HookAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The embedding program's hooks, in the order in which they were added. */
export interface Hooks {
  /** By operationId. */
  readonly before: ReadonlyMap<string, readonly AnyBeforeHook[]>;
  readonly after: ReadonlyMap<string, readonly AnyAfterHook[]>;
}

interface PipelineDeps {
  readonly catalog: Catalog;
  readonly services: Services;
  readonly hooks: Hooks;
  /** Null when rate limits are off. */
  readonly limits: Limits | null;
  /** Signs attachment URLs; see `transports/http/signature.ts`. Without it URLs stay unsigned. */
  readonly signUrl?: (url: string) => string;
}

type PipelineContext = PipelineDeps & { readonly factors: SecondFactors };

/** Headers for the answer of an admitted call, or the answer that refuses the call. */
type RequestAdmission =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly result: Result };

/** Runs every operation, over HTTP or embedded. Refusals are results; faults are thrown. */
export interface Pipeline {
  /**
   * Applies rate limits and authentication, which need no body, so that the transport can refuse a call before reading one.
   * Counts one call.
   */
  admit(
    operationId: string,
    params: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<RequestAdmission>;
  /** Runs an admitted call: validates its parts against their schemas, runs hooks and the handler. */
  run(operationId: string, call: Invocation, headers: Readonly<Record<string, string>>): Promise<Result>;
  /** The answer to an admitted call whose body could not be read. */
  refuse(
    operationId: string,
    no: Refusal,
    context: Pick<CallContext, 'address'>,
    headers: Readonly<Record<string, string>>,
  ): Result;
  /** Calls `admit`, then `run`. */
  invoke(operationId: string, call: Invocation): Promise<Result>;
}

export function createPipeline(deps: PipelineDeps): Pipeline {
  const { catalog, limits } = deps;
  const pipelineContext: PipelineContext = { ...deps, factors: createSecondFactors(deps.services) };

  function entryOf(operationId: string): CatalogEntry {
    const entry = catalog.get(operationId);
    if (!entry) throw new RangeError(`Unknown operation: "${operationId}".`);
    return entry;
  }

  /** Every answer passes through here, so that failed calls are counted once. */
  function seen(address: string | null, result: Result): Result {
    if (address !== null) limits?.observe(address, result);
    return result;
  }

  async function admit(
    operationId: string,
    params: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<RequestAdmission> {
    const entry = entryOf(operationId);
    const { caller, address } = context;
    const admitted = address === null ? undefined : await limits?.admit(entry, params, caller, address);
    if (admitted?.refused) return { ok: false, result: seen(address, admitted.refused) };
    const limited = admitted?.headers ?? NO_HEADERS;
    const headers = entry.operation?.oauth2 ? { ...limited, ...UNCACHED } : limited;
    const denied = entry.operation ? deny(entry.operation, context) : notBuilt(operationId);
    return denied ? { ok: false, result: seen(address, resultOf(denied, headers)) } : { ok: true, headers };
  }

  async function run(
    operationId: string,
    call: Invocation,
    headers: Readonly<Record<string, string>>,
  ): Promise<Result> {
    const entry = entryOf(operationId);
    const { operation } = entry;
    if (!operation) return resultOf(notBuilt(operationId), headers);
    return seen(call.address, await perform(entry, operation, call, headers, pipelineContext));
  }

  return {
    admit,
    run,
    refuse: (operationId, no, { address }, headers) =>
      seen(address, refusedBy(entryOf(operationId).operation ?? {}, no, headers)),
    async invoke(operationId, call) {
      const admission = await admit(operationId, call.params ?? {}, call);
      return admission.ok ? run(operationId, call, admission.headers) : admission.result;
    },
  };
}

/** @source https://docs.discord.com/developers/resources/audit-log#audit-log-entry-object */
const REASON_LENGTH_MAX = 512;
const LONG_REASON = invalidField(['reason'], 'BASE_TYPE_MAX_LENGTH', 'Must be 512 or fewer in length.');

async function perform(
  entry: CatalogEntry,
  operation: AnyOperation,
  call: Invocation,
  admitted: Readonly<Record<string, string>>,
  within: PipelineContext,
): Promise<Result> {
  const { hooks, signUrl, limits } = within;
  const before = hooks.before.get(entry.operationId) ?? [];
  const after = hooks.after.get(entry.operationId) ?? [];
  let headers = admitted;
  const context = { operationId: entry.operationId, callerId: call.caller?.userId ?? null };
  if (call.reason && call.reason.length > REASON_LENGTH_MAX) return resultOf(LONG_REASON, headers);
  let read = readParts(entry, call);
  if (!read.ok) return refusedBy(operation, read.refusal, headers);
  if (call.address !== null) {
    const counted = await limits?.admitBody(entry, read.parts.body, call.caller, call.address);
    if (counted?.refused) return counted.refused;
    if (counted) headers = { ...headers, ...counted.headers };
  }
  for (const hook of before) {
    const change = await hook({ ...read.parts, ...context });
    if (change === undefined) continue;
    if ('refuse' in change) return resultOf(change.refuse, headers);
    // Validate again what a hook changed: a handler only gets values that match its schemas.
    read = readParts(entry, { ...read.parts, ...change });
    if (!read.ok) return refusedBy(operation, read.refusal, headers);
  }
  const { parts } = read;
  const answer = await handled(operation, parts, call, within);
  let result = answerOf(operation, answer, headers);
  // A frozen body is a shared message, which has no attachments.
  if (signUrl && entry.holdsMessages && !Object.isFrozen(result.body)) {
    const body = signAttachments(result.body, signUrl);
    if (body !== result.body) result = { ...result, body };
  }
  // The embedding program may change what it gets.
  if (after.length > 0 || call.address === null) result = { ...result, body: unshared(result.body) };
  for (const hook of after) {
    const change = await hook({ ...parts, ...context }, { status: result.status, body: result.body });
    // What the program freezes is no shared message: its JSON may still change.
    if (change) result = { ...result, status: change.status, body: unshared(change.body) };
  }
  return result;
}

/**
 * Runs the handler. A guild that asks for a second factor is asked again with that of the caller, who may have one; later calls
 * of that caller name it at once.
 */
async function handled(
  operation: AnyOperation,
  parts: RequestParts,
  call: Invocation,
  { services, factors }: PipelineContext,
): Promise<Answer> {
  const { params, query, body, files } = parts;
  const { caller, publicUrl, address, basic = null, locales = [] } = call;
  const handle = (authority: Authority | null) =>
    operation.handle(
      { params, query, body, files, caller, authority, publicUrl, locales, basic, address },
      services,
    );
  const authority = callerAuthority(operation, call);
  if (!caller || !authority) return handle(authority);
  const withFactor = async () =>
    handle({ ...authority, by: { ...authority.by, secondFactor: await factors.ask(caller) } });
  if (factors.isRequired(caller)) return withFactor();
  const answer = await handle(authority);
  return answer.ok || answer.refusal.code !== TWO_FACTOR_CODE ? answer : withFactor();
}

const TWO_FACTOR_CODE = refusal('TWO_FACTOR_REQUIRED').code;

type RequestParts = Required<ApiParams>;

function readParts(
  entry: CatalogEntry,
  call: ApiParams,
): { readonly ok: true; readonly parts: RequestParts } | { readonly ok: false; readonly refusal: Refusal } {
  const params: Record<string, string> = {};
  let wrong: ErrorTree | null = null;
  // Only an embedding program can omit a parameter or pass a number; over HTTP neither happens.
  for (const { name, isId } of entry.params) {
    const value: unknown = call.params?.[name];
    if (typeof value !== 'string' || (isId && !isSnowflake(value))) {
      wrong ??= {};
      wrong[name] = value === undefined ? REQUIRED : notSnowflake(value);
    } else params[name] = isId ? value : plainText(value);
  }
  if (wrong) return { ok: false, refusal: invalidForm(wrong) };
  const query = entry.readQuery?.(call.query ?? {}) ?? NOTHING;
  if (!query.ok) return query;
  const body = entry.readBody?.(call.body ?? {}) ?? NOTHING;
  if (!body.ok) return body;
  const files = call.files ?? [];
  return {
    ok: true,
    parts: { params, query: query.value as RequestParts['query'], body: body.value, files },
  };
}

/** The body that an operation without a schema reads. */
const NOTHING = { ok: true, value: {} } as const;
const NO_HEADERS: Readonly<Record<string, string>> = {};

function deny({ auth, scope }: AnyOperation, { caller }: CallContext): Refusal | null {
  if (auth === 'none') return null;
  if (caller === null) return refusal('UNAUTHORIZED');
  if (auth === 'bot' && caller.kind !== 'bot') return refusal('ONLY_BOTS_CAN_USE_THIS_ENDPOINT');
  if (auth === 'user' && caller.kind !== 'user') return refusal('BOTS_CANNOT_USE_THIS_ENDPOINT');
  return caller.authorization ? outOfScope(scope, caller.authorization.scopes) : null;
}

/** Refuses an application that acts for a user without one of the scopes; the message names them. */
function outOfScope(scope: AnyOperation['scope'], granted: Scopes): Refusal | null {
  if (scope === 'any') return null;
  const demanded = typeof scope === 'string' ? [scope] : (scope ?? []);
  if (demanded.some((name) => granted.has(name))) return null;
  const no = refusal('MISSING_OAUTH2_SCOPE');
  if (demanded.length === 0) return { ...no, message: 'This endpoint is not open to OAuth2 access tokens' };
  return { ...no, message: `${no.message}: ${demanded.join(' or ')}` };
}

/** Answered as 4xx, because libraries retry after any 5xx and some exit when the retries fail. */
const notBuilt = (operationId: string): Refusal => ({
  ...refusal('NOT_BUILT'),
  message: `404: Not Found (this server does not have the operation ${operationId} yet)`,
});

function callerAuthority(operation: AnyOperation, { caller, reason }: CallContext): Authority | null {
  if (caller === null) return null;
  const { userId, applicationId, applicationFlags, kind } = caller;
  return {
    by: {
      userId,
      bot: kind === 'bot',
      applicationId,
      applicationFlags,
      reason: reason ? plainText(reason) : null,
      secondFactor: 'unknown',
    },
    requires: operation.permission ?? 0n,
  };
}

function answerOf(
  operation: AnyOperation,
  answer: Answer,
  headers: Readonly<Record<string, string>>,
): Result {
  if (!answer.ok) return refusedBy(operation, answer.refusal, headers);
  const status = answer.status ?? operation.status;
  const type = operation.text ? PLAIN_TEXT : operation.media;
  const typed = type ? { ...headers, 'Content-Type': type } : headers;
  return { status, headers: typed, body: status === 204 ? undefined : answer.value };
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** @source RFC 6749, section 5.1 */
const UNCACHED = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };
/** @source RFC 6749, section 5.2 */
const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="oauth2"' };

/** Converts an operation's refusal to its error format: the platform's, or that of RFC 6749. */
function refusedBy(
  { oauth2 }: Pick<AnyOperation, 'oauth2'>,
  no: Refusal,
  headers: Readonly<Record<string, string>> = {},
): Result {
  if (!oauth2) return resultOf(no, headers);
  const isForm = no.oauthError === undefined && no.code === ERRORS.INVALID_FORM_BODY.code;
  const spoken = isForm ? oauthRefusal('invalid_request', firstError(no.errors ?? {})) : no;
  return resultOf(spoken, spoken.oauthError === 'invalid_client' ? { ...headers, ...CHALLENGE } : headers);
}

/** The first leaf of an error tree, prefixed with its path. */
function firstError(tree: ErrorTree, at = ''): string {
  const [leaf] = tree._errors ?? [];
  if (leaf) return at === '' ? leaf.message : `${at}: ${leaf.message}`;
  for (const [key, branch] of Object.entries(tree))
    if (branch && !Array.isArray(branch)) return firstError(branch, at === '' ? key : `${at}.${key}`);
  return 'The request is not well formed.';
}

/** Converts a refusal to an answer. */
export function resultOf(no: Refusal, headers: Readonly<Record<string, string>> = {}): Result {
  const retryAfterSec = no.retryAfterSec ?? (no.status === 429 ? 1 : undefined);
  if (retryAfterSec === undefined) return { status: no.status, headers, body: errorBody(no) };
  // A handler's own 429 (slow mode) concerns a channel that others write to as well: the scope is shared.
  const wait = waitHeaders(retryAfterSec, 'shared');
  return { status: no.status, headers: { ...headers, ...wait }, body: errorBody({ ...no, retryAfterSec }) };
}

/** Most callers kept whose second factor a guild has required; the least recent is dropped. */
const ASKED_MAX = 10_000;

/** Looks up second factors, only for callers that need one in a guild. */
interface SecondFactors {
  /** Whether a guild has required the caller's factor before. */
  isRequired(caller: Caller): boolean;
  /** Looks up whether the caller has one, because a guild requires it. */
  ask(caller: Caller): Promise<SecondFactor>;
}

function createSecondFactors(services: Pick<Services, 'accounts' | 'read'>): SecondFactors {
  /** Least recently asked first. */
  const asked = new Set<string>();

  /** The account of a user, or of a bot's owner. */
  async function lookUp({ kind, userId, applicationId }: Caller): Promise<SecondFactor> {
    const application =
      kind === 'bot' && applicationId !== null ? await services.read.applications.get(applicationId) : null;
    const ownerId = kind === 'bot' ? application?.owner_id : userId;
    const hasFactor =
      ownerId !== undefined && ((await services.accounts.profile(ownerId))?.hasFactor ?? false);
    return hasFactor ? 'set' : 'none';
  }

  return {
    isRequired: ({ userId }) => asked.has(userId),
    ask(caller) {
      asked.delete(caller.userId);
      asked.add(caller.userId);
      dropOldest(asked, ASKED_MAX);
      return lookUp(caller);
    },
  };
}
