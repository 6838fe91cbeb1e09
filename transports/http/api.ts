import type { Logger } from 'pino';
import type { LogWindows } from '../../actors/runtime/faults.ts';
import type { Principal } from '../../actors/session/ports.ts';
import { networkOf } from '../../protocol/addresses.ts';
import { isBug, LinkFault, NotServed } from '../../protocol/faults.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Recorder } from '../recording/recorder.ts';
import { BODY_BYTES } from '../rest/bodysize.ts';
import type { Catalog, CatalogEntry } from '../rest/catalog.ts';
import type { RestChaos } from '../rest/chaos.ts';
import type { AnyOperation, BasicCredentials, Caller, Upload } from '../rest/operation.ts';
import { type CallContext, type Pipeline, resultOf } from '../rest/pipeline.ts';
import type { Result } from '../rest/result.ts';
import { invalidForm } from '../rest/validate.ts';
import { type BodyEnd, BodyMemory, type BodyMemoryBounds, BodyStream } from './body.ts';
import {
  type After,
  Exchange,
  languagesOf,
  REQUEST_TIMEOUT,
  readJson,
  readQuery,
  TOO_LARGE,
} from './exchange.ts';
import { createFormReader } from './multipart.ts';
import { createRouter, type Match } from './router.ts';
import type { Installer } from './server.ts';

/** Scheme of the Authorization header; `none` is the bare token, as user clients send it. */
type Scheme = 'Bot' | 'Bearer' | 'none';

export interface ApiSettings {
  /** Bytes of any body; operations declare lower bounds. */
  readonly bodyBytesMax: number;
  /** Bounds of the memory of all concurrent bodies, and of one caller's. */
  readonly bodies: BodyMemoryBounds;
  readonly fileBytesMax: number;
  /** For files of messages, whose bound the guild's tier or the person's premium type may raise. */
  readonly raisedFileBytesMax: number;
  readonly requestTimeoutMs: number;
  readonly trustProxy: boolean;
}

export interface ApiDeps {
  readonly pipeline: Pipeline;
  readonly catalog: Catalog;
  /** The owner of a token; null when the token is unknown or does not match the scheme. Rejects on a fault. */
  authenticate(scheme: Scheme, token: string): Promise<Caller | null>;
  /** `origin` is the base URL for clients, without a trailing slash. It is known once the server listens. */
  readonly urls: { readonly origin: string };
  readonly settings: ApiSettings;
  readonly clock: { monotonic(): number; setTimer(run: () => void, delayMs: number): { cancel(): void } };
  readonly logger: Pick<Logger, 'error'>;
  /** Bounds the lines about faults. */
  readonly logWindows: Pick<LogWindows, 'omittedBefore'>;
  /** Injects failures; absent elsewhere than in development. */
  readonly chaos?: RestChaos | null;
  /** Receives every call that reached its operation; absent outside development. */
  readonly recorder?: Recorder | null;
  /** Measures every answer. */
  readonly metrics?: HttpMetrics;
}

export interface HttpMetrics {
  /** Time to an answer; the operation is `none` when no operation matched the path. */
  readonly seconds: {
    observe(labels: { readonly operation: string; readonly status: string }, seconds: number): void;
  };
  /** Requests answered 503. */
  unavailable: number;
}

const VERSION = /^\/v(\d{1,9})(?=\/|$)/;
const SERVED = new Set(['9', '10']);
const BASIC = /^Basic +([A-Za-z0-9+/_-]{1,1024}={0,2})$/i;
const AUTHORIZATION = /^(?:(Bot|Bearer) +)?([\x21-\x7e]{1,512})$/i;
const USER_PATH = /^\/users\/(\d{1,20})(?=\/|$)/;

/** Serves the REST interface over HTTP, under `/api`, `/api/v9` and `/api/v10`. */
export function apiRoutes(deps: ApiDeps): Installer {
  const route = createRouter(deps.catalog.values());
  const memory = new BodyMemory(deps.settings.bodies, () => deps.clock.monotonic());
  return (app, state) => {
    app.any('/api/*', (res, req) => {
      const exchange = new Exchange(res, req, state);
      if (exchange.method === 'OPTIONS') return exchange.preflight();
      void state.run(respond(exchange));
    });
  };

  /** Runs without interruption until the body is being received: its first bytes come right after the header. */
  async function respond(exchange: Exchange): Promise<void> {
    const startMs = deps.clock.monotonic();
    const match = exchange.hasTwoLengths ? BAD_REQUEST : routed(exchange, route);
    const entry = 'status' in match ? null : match.entry;
    const body = exchange.hasBody ? bodyOf(exchange, match, deps, memory) : null;
    try {
      const result = await resultFor(exchange, match, body);
      const after = exchange.hasTwoLengths ? 'cut' : body === null ? 'stays' : await afterwards(result, body);
      exchange.answer(result, after);
      if (deps.metrics) measure(deps.metrics, entry, result.status, deps.clock.monotonic() - startMs);
    } catch (bug) {
      deps.logger.error({ err: bug }, 'Sending an HTTP response failed.');
    } finally {
      body?.release();
    }
  }

  async function resultFor(
    exchange: Exchange,
    match: Routed | Refusal,
    body: BodyStream | null,
  ): Promise<Result> {
    if ('status' in match) return resultOf(match);
    try {
      return await serve(exchange, match, body, deps);
    } catch (fault) {
      return faultResult(fault, match.entry, deps);
    }
  }

  function routed(exchange: Exchange, find: (method: string, path: string) => Match): Routed | Refusal {
    const path = exchange.path.slice('/api'.length);
    const version = VERSION.exec(path);
    if (version && !SERVED.has(version[1] ?? '')) return refusal('INVALID_API_VERSION');
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const rest = path.slice(version?.[0].length ?? 0);
    const target = targetOf(find(method, rest));
    const [, userId] = rest.startsWith('/users/') ? (USER_PATH.exec(rest) ?? []) : [];
    if (userId === undefined) return target;
    const own = targetOf(find(method, rest.replace(USER_PATH, '/users/@me')));
    // A parameter takes `@me` as well, but its operation wants the id.
    if ('status' in own || !own.entry.path.startsWith('/users/@me')) return target;
    return 'status' in target
      ? { ...own, own: { ...own, userId }, others: target }
      : { ...target, own: { ...own, userId } };
  }

  function targetOf(match: Match): Target | Refusal {
    if (match.kind === 'unknown') return refusal('NOT_FOUND');
    if (match.kind === 'otherMethods') return refusal('METHOD_NOT_ALLOWED');
    const entry = deps.catalog.get(match.operationId);
    return entry ? { entry, params: match.params } : refusal('NOT_FOUND');
  }
}

function measure(metrics: HttpMetrics, entry: CatalogEntry | null, status: number, elapsedMs: number): void {
  const labels = { operation: entry?.operationId ?? 'none', status: `${Math.floor(status / 100)}xx` };
  metrics.seconds.observe(labels, elapsedMs / 1_000);
  if (status === 503) metrics.unavailable += 1;
}

interface Target {
  readonly entry: CatalogEntry;
  readonly params: Readonly<Record<string, string>>;
}

interface Routed extends Target {
  /** If the path contains a user's id, the `@me` operation that it names for that user. */
  readonly own?: Target & { readonly userId: string };
  /** The answer for everybody else, if the path exists only for that user. */
  readonly others?: Refusal;
}

function targetFor(routed: Routed, caller: Caller | null): Target | Refusal {
  if (routed.own && routed.own.userId === caller?.userId) return routed.own;
  return routed.others ?? routed;
}

function bodyOf(
  exchange: Exchange,
  match: Routed | Refusal,
  { settings, clock }: ApiDeps,
  memory: BodyMemory,
): BodyStream {
  const isForm = kindOf(exchange) === 'multipart/form-data';
  // Only authentication decides between the two operations, and the body begins before it ends.
  const entries = 'status' in match ? [] : [match.entry, match.own?.entry ?? match.entry];
  const bounds = entries.map((entry) => (isForm ? entry.multipartBytesMax : entry.bodyBytesMax));
  const bytesMax = Math.min(settings.bodyBytesMax, Math.max(BODY_BYTES.open, ...bounds));
  const account = memory.open(networkOf(exchange.address(settings.trustProxy)));
  return new BodyStream(exchange, { bytesMax, timeoutMs: settings.requestTimeoutMs }, account, clock);
}

/** The media type without parameters, in lower case. */
const kindOf = ({ headers }: Exchange): string =>
  (headers.get('content-type') ?? '').toLowerCase().split(';', 1)[0]!.trim();

/** Decides what happens to the connection after the answer. A body that arrived too slowly is not read further. */
async function afterwards({ status }: Result, body: BodyStream): Promise<After> {
  if (status === REQUEST_TIMEOUT.status) return 'cut';
  return (await body.discard()) ? 'stays' : 'unread';
}

async function serve(
  exchange: Exchange,
  routed: Routed,
  body: BodyStream | null,
  deps: ApiDeps,
): Promise<Result> {
  const { pipeline } = deps;
  const address = exchange.address(deps.settings.trustProxy);
  const isOAuth2 = routed.entry.operation?.oauth2 === true;
  const context: CallContext = {
    caller: isOAuth2 ? null : await identify(exchange, deps),
    basic: isOAuth2 ? basicOf(exchange) : null,
    reason: reasonOf(exchange),
    address,
    locales: languagesOf(exchange.headers),
    publicUrl: deps.urls.origin,
  };
  if (exchange.over) return GONE;
  const target = targetFor(routed, context.caller);
  if ('status' in target) return resultOf(target);
  const { entry, params } = target;
  if (context.caller !== null) body?.signIn(context.caller.userId);
  const failed = deps.chaos ? await deps.chaos(entry, context.caller?.userId ?? null) : null;
  if (failed) return failed;
  const admission = await pipeline.admit(entry.operationId, params, context);
  if (exchange.over) return GONE;
  if (!admission.ok) return admission.result;
  const content = body === null ? NO_CONTENT : await readContent(exchange, entry, body, deps);
  if (!content.ok) return pipeline.refuse(entry.operationId, content.refusal, context, admission.headers);
  const call = {
    ...context,
    params,
    query: entry.readQuery ? readQuery(exchange.query) : {},
    body: content.body,
    files: content.files,
  };
  if (!deps.recorder) return pipeline.run(entry.operationId, call, admission.headers);
  return recorded(deps.recorder, exchange, entry.operationId, call, () =>
    pipeline.run(entry.operationId, call, admission.headers),
  );
}

async function recorded(
  recorder: Recorder,
  { headers }: Exchange,
  operation: string,
  { caller, params = {}, query, body, files = [], reason = null }: Parameters<Pipeline['run']>[1],
  run: () => Promise<Result>,
): Promise<Result> {
  const startMs = recorder.nowMs();
  const result = await run();
  recorder.call({
    ...{ startMs, operation, params, query, body, files, reason, userId: caller?.userId ?? null },
    authorization: headers.get('authorization') ?? null,
    ...{ status: result.status, answer: result.body },
  });
  return result;
}

/** @source RFC 9112, 6.3: a request with two lengths is refused, and its connection closed. */
const BAD_REQUEST: Refusal = { status: 400, code: 0, message: '400: Bad Request' };

/** Result for a peer that has disconnected; it is only counted. */
const GONE: Result = { status: 499, headers: {}, body: undefined };

function schemeOf(written: string | undefined): Scheme {
  if (written === undefined) return 'none';
  return written.toLowerCase() === 'bot' ? 'Bot' : 'Bearer';
}

/** The owner of the token that the request names; null without one. */
function identify({ headers }: Exchange, { authenticate }: ApiDeps): Promise<Caller | null> | null {
  const match = AUTHORIZATION.exec(headers.get('authorization') ?? '');
  if (!match) return null;
  const [, scheme, token = ''] = match;
  return authenticate(schemeOf(scheme), token);
}

/** Reads HTTP Basic credentials of an OAuth 2.0 client: id and secret, each form-encoded. @source RFC 6749, section 2.3.1 */
function basicOf({ headers }: Exchange): BasicCredentials | null {
  const [, encoded] = BASIC.exec(headers.get('authorization') ?? '') ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const parts = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  const [id = '', secret = ''] = parts.map(formDecoded);
  return { id, secret };
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Reads `X-Audit-Log-Reason`, which is percent-encoded UTF-8; invalid encoding is kept as plain text. */
function reasonOf({ headers }: Exchange): string | null {
  const header = headers.get('x-audit-log-reason');
  if (header === undefined || header === '') return null;
  try {
    return decodeURIComponent(header);
  } catch {
    return header;
  }
}

type Content<Body = unknown> =
  | { readonly ok: true; readonly body: Body; readonly files: readonly Upload[] }
  | { readonly ok: false; readonly refusal: Refusal };

const NO_CONTENT: Content = { ok: true, body: undefined, files: [] };

async function readContent(
  exchange: Exchange,
  { operation, bodyBytesMax }: CatalogEntry,
  body: BodyStream,
  { settings }: ApiDeps,
): Promise<Content> {
  const kind = kindOf(exchange);
  // Ignore a body that the operation does not take: some clients send `{}` with every DELETE.
  if (!operation?.body && !operation?.multipart) return unread(await body.consume(() => {}));
  if (operation.oauth2 && kind === FORM) return readFormBody(body);
  if (operation.form && kind === FORM) return readJsonForm(body);
  if (kind === 'application/json' && !operation.oauth2) return readJsonBody(body);
  if (operation.multipart && kind === 'multipart/form-data') {
    const contentType = exchange.headers.get('content-type') ?? '';
    const { fileBytesMax, raisedFileBytesMax } = settings;
    const max = operation.multipart === 'raised' ? raisedFileBytesMax : fileBytesMax;
    const form = createFormReader(contentType, max, bodyBytesMax);
    const end = await body.consume((chunk) => form.write(chunk));
    return end === 'complete' ? form.end() : { ok: false, refusal: refusalOf(end) };
  }
  return { ok: false, refusal: wrongType(operation) };
}

const FORM = 'application/x-www-form-urlencoded';

const unread = (end: BodyEnd): Content =>
  end === 'complete' ? NO_CONTENT : { ok: false, refusal: refusalOf(end) };

async function readJsonBody(body: BodyStream): Promise<Content> {
  const received = await readWhole(body);
  if (!received.ok) return received;
  if (received.bytes === null) return NO_CONTENT;
  const read = readJson(received.bytes);
  return read.ok ? { ok: true, body: read.value, files: [] } : read;
}

/** Reads a form body. A repeated field becomes a list, which no form schema accepts. @source RFC 6749, section 3.2 */
async function readFormBody(body: BodyStream): Promise<Content<ReturnType<typeof readQuery>>> {
  const received = await readWhole(body);
  if (!received.ok) return received;
  const text = Buffer.from(received.bytes ?? []).toString('utf8');
  return { ok: true, body: readQuery(text), files: [] };
}

/** Reads a form body whose fields are those of the JSON body, or whose `payload_json` or `payload` is that body. */
async function readJsonForm(body: BodyStream): Promise<Content> {
  const form = await readFormBody(body);
  if (!form.ok) return form;
  const { payload_json: sent, payload = sent } = form.body;
  if (typeof payload !== 'string') return form;
  const read = readJson(Buffer.from(payload));
  return read.ok ? { ok: true, body: read.value, files: [] } : read;
}

type Whole =
  | { readonly ok: true; readonly bytes: Uint8Array | null }
  | { readonly ok: false; readonly refusal: Refusal };

/** All bytes of a body; null when it is empty. */
async function readWhole(body: BodyStream): Promise<Whole> {
  const chunks: Uint8Array[] = [];
  const end = await body.consume((chunk) => chunks.push(chunk));
  if (end !== 'complete') return { ok: false, refusal: refusalOf(end) };
  const [first] = chunks;
  return {
    ok: true,
    bytes: first === undefined ? null : chunks.length === 1 ? first : Buffer.concat(chunks),
  };
}

/** Retry delay for a caller over its share: long enough for another of its bodies to end. */
const SHARE_RETRY_SEC = 2;

function refusalOf(end: Exclude<BodyEnd, 'complete'>): Refusal {
  if (end === 'tooLarge') return TOO_LARGE;
  if (end === 'share') return { ...refusal('RATE_LIMITED'), retryAfterSec: SHARE_RETRY_SEC };
  if (end === 'overloaded') return { ...refusal('SERVICE_UNAVAILABLE'), retryAfterSec: RETRY_AFTER_SEC };
  return REQUEST_TIMEOUT;
}

function wrongType({ multipart, oauth2, form }: AnyOperation): Refusal {
  const types = [
    ...(oauth2 ? [] : ['application/json']),
    ...(multipart ? ['multipart/form-data'] : []),
    ...(oauth2 || form ? [FORM] : []),
  ];
  const message = `Expected "Content-Type" header to be one of {${types.map((type) => `'${type}'`).join(', ')}}.`;
  return { ...invalidForm({ _errors: [{ code: 'CONTENT_TYPE_INVALID', message }] }), status: 415 };
}

/**
 * Answers a fault of the environment with 503, which clients may retry, and a bug with 500. A call that no shard serves now,
 * or whose owner was lost, is not logged here: the fault behind it was logged where it occurred.
 */
function faultResult(fault: unknown, entry: CatalogEntry | null, { logger, logWindows }: ApiDeps): Result {
  const operationId = entry?.operationId ?? null;
  if (fault instanceof NotServed) return unavailable(fault.retryAfterSec);
  if (fault instanceof LinkFault && fault.kind === 'lost') return unavailable(RETRY_AFTER_SEC);
  const bug = isBug(fault);
  // While the database is away every call fails, and the lines are alike.
  const omitted = logWindows.omittedBefore(bug ? `bug ${operationId}` : 'fault');
  if (omitted !== null)
    logger.error(
      { err: fault, operationId, ...(omitted > 0 && { omitted_before: omitted }) },
      bug ? 'A REST call failed because of a bug.' : 'A REST call failed because of a fault.',
    );
  return bug ? resultOf(refusal('INTERNAL_ERROR')) : unavailable(RETRY_AFTER_SEC);
}

const RETRY_AFTER_SEC = 1;

const unavailable = (retryAfterSec: number): Result =>
  resultOf(refusal('SERVICE_UNAVAILABLE'), { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSec))) });

/** Resolves tokens to callers. The scheme must match the kind of caller that the token belongs to. */
export function callersBy(authenticate: (token: string, isBearer: boolean) => Promise<Principal | null>) {
  /** Each principal is converted once: the tokens of recent callers are cached with their principals. */
  const callers = new WeakMap<Principal, Caller>();

  function callerOf(principal: Principal): Caller {
    const known = callers.get(principal);
    if (known) return known;
    const { bot, ...rest } = principal;
    const caller: Caller = { kind: bot ? 'bot' : 'user', ...rest };
    callers.set(principal, caller);
    return caller;
  }

  return async (scheme: Scheme, token: string): Promise<Caller | null> => {
    const principal = await authenticate(token, scheme === 'Bearer');
    if (!principal || principal.bot !== (scheme === 'Bot')) return null;
    // A token that an application was granted is a bearer token (RFC 6750) and valid only as such.
    if (principal.authorization && scheme !== 'Bearer') return null;
    return callerOf(principal);
  };
}
