import type { Logger } from 'pino';
import { NotServed } from '../../protocol/faults.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Catalog, Entry } from '../rest/catalog.ts';
import { invalidForm } from '../rest/form.ts';
import type { AnyOperation, BasicCredentials, Caller, Upload } from '../rest/operation.ts';
import { type CallContext, type Pipeline, refusedBy, resultOf } from '../rest/pipeline.ts';
import type { Result } from '../rest/result.ts';
import { BodyBudget, type BodyEnd, BodyStream } from './body.ts';
import { Exchange, REQUEST_TIMEOUT, TOO_LARGE } from './exchange.ts';
import { readJson } from './json.ts';
import { createFormReader } from './multipart.ts';
import { readQuery } from './query.ts';
import { createRouter, type Match } from './router.ts';
import type { Installer } from './server.ts';

export type Scheme = 'Bot' | 'Bearer';

export interface ApiSettings {
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are being read at one time. */
  readonly bodiesBytesMax: number;
  readonly fileBytesMax: number;
  readonly requestTimeoutMs: number;
  readonly trustProxy: boolean;
}

export interface ApiDeps {
  readonly pipeline: Pipeline;
  readonly catalog: Catalog;
  /** Who a token belongs to; null when it is nobody's, or not of that scheme. Rejects on a fault. */
  authenticate(scheme: Scheme, token: string): Promise<Caller | null>;
  /** Base URL of this server as clients should use it, without a slash. */
  publicUrl(): string;
  readonly settings: ApiSettings;
  readonly clock: { monotonic(): number; setTimer(run: () => void, delayMs: number): { cancel(): void } };
  readonly logger: Pick<Logger, 'error'>;
  /** Told of every answer, for metrics. `operationId` is null when the path led nowhere. */
  observe?(operationId: string | null, status: number, elapsedMs: number): void;
}

const VERSION = /^\/v(\d{1,9})(?=\/|$)/;
const SERVED = new Set(['9', '10']);
const BASIC = /^Basic +([A-Za-z0-9+/_-]{1,1024}={0,2})$/i;
/** Clients of people send the token alone, without a scheme. */
const AUTHORIZATION = /^(?:(Bot|Bearer) +)?([\x21-\x7e]{1,512})$/i;
const USER_PATH = /^\/users\/(\d{1,20})(?=\/|$)/;

/** The REST interface over HTTP, under `/api`, `/api/v9` and `/api/v10`. */
export function apiRoutes(deps: ApiDeps): Installer {
  const route = createRouter(deps.catalog.values());
  const budget = new BodyBudget(deps.settings.bodiesBytesMax);
  return (app, state) => {
    app.any('/api/*', (res, req) => {
      const exchange = new Exchange(res, req, state);
      const startMs = deps.clock.monotonic();
      const done = (operationId: string | null, result: Result, close = false) => {
        exchange.answer(result, close);
        deps.observe?.(operationId, result.status, deps.clock.monotonic() - startMs);
      };
      if (exchange.method === 'OPTIONS') return exchange.preflight();
      const match = routed(exchange, route);
      if ('status' in match) return done(null, resultOf(match), hasBody(exchange));
      const body = hasBody(exchange) ? bodyOf(exchange, match.entry, deps, budget) : null;
      serve(exchange, match, body, deps)
        .catch((fault: unknown) => ({ result: faultResult(fault, match.entry, deps), close: true }))
        .then(({ result, close }) => done(match.entry.operationId, result, close))
        .finally(() => body?.release())
        .catch((bug: unknown) => deps.logger.error({ err: bug }, 'An answer could not be sent.'));
    });
  };

  function routed(exchange: Exchange, find: (method: string, path: string) => Match): Routed | Refusal {
    const path = exchange.path.slice('/api'.length);
    const version = VERSION.exec(path);
    if (version && !SERVED.has(version[1] ?? '')) return refusal('INVALID_API_VERSION');
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const rest = path.slice(version?.[0].length ?? 0);
    const target = targetOf(find(method, rest));
    const [, userId] = USER_PATH.exec(rest) ?? [];
    if (userId === undefined) return target;
    const own = targetOf(find(method, rest.replace(USER_PATH, '/users/@me')));
    if ('status' in own) return target;
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

interface Target {
  readonly entry: Entry;
  readonly params: Readonly<Record<string, string>>;
}

interface Routed extends Target {
  /** Where the path leads for the user whose id it has: to what is served under `@me`. */
  readonly own?: Target & { readonly userId: string };
  /** What everybody else is answered, when the path leads somewhere for that user only. */
  readonly others?: Refusal;
}

function targetFor(routed: Routed, caller: Caller | null): Target | Refusal {
  if (routed.own && routed.own.userId === caller?.userId) return routed.own;
  return routed.others ?? routed;
}

interface Served {
  readonly result: Result;
  /** The request was not read to its end, so nothing that follows on the connection can be read either. */
  readonly close: boolean;
}

function hasBody({ headers }: Exchange): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0;
}

/** Of a form of the authorization server: its longest field is a token of 10,240 characters, escaped. */
const FORM_BYTES_MAX = 65_536;

function bodyOf(
  exchange: Exchange,
  { operation }: Entry,
  { settings, clock }: ApiDeps,
  budget: BodyBudget,
): BodyStream {
  const bytesMax = operation?.oauth2 ? FORM_BYTES_MAX : settings.bodyBytesMax;
  const bounds = { bytesMax, timeoutMs: settings.requestTimeoutMs };
  return new BodyStream(exchange, bounds, budget, clock);
}

async function serve(
  exchange: Exchange,
  routed: Routed,
  body: BodyStream | null,
  deps: ApiDeps,
): Promise<Served> {
  const { pipeline } = deps;
  const query = readQuery(exchange.query);
  const reason = reasonOf(exchange);
  const address = exchange.address(deps.settings.trustProxy);
  const context: CallContext = {
    ...(routed.entry.operation?.oauth2 ? shownBy(exchange) : await identify(exchange, deps)),
    reason,
    address,
    publicUrl: deps.publicUrl(),
  };
  if (exchange.over) return { result: GONE, close: true };
  const target = targetFor(routed, context.caller);
  if ('status' in target) return { result: resultOf(target), close: await discarded(body) };
  const { entry, params } = target;
  const admission = pipeline.admit(entry.operationId, params, context);
  if (!admission.ok) return { result: admission.result, close: await discarded(body) };
  const content = await readContent(exchange, entry, body, deps);
  if (!content.ok) {
    const result = refusedBy(entry.operation ?? {}, content.refusal, admission.headers);
    return { result, close: content.close };
  }
  const call = { ...context, params, query, body: content.body, files: content.files };
  return { result: await pipeline.run(entry.operationId, call, admission.headers), close: false };
}

/** For a peer that has left; nobody receives it. */
const GONE: Result = { status: 499, headers: {}, body: undefined };

async function identify(
  { headers }: Exchange,
  { authenticate }: ApiDeps,
): Promise<{ caller: Caller | null }> {
  const match = AUTHORIZATION.exec(headers.get('authorization') ?? '');
  if (!match) return { caller: null };
  const [, scheme = '', token = ''] = match;
  return { caller: await authenticate(scheme.toLowerCase() === 'bot' ? 'Bot' : 'Bearer', token) };
}

/** Clients of the authorization server show id and secret, form-encoded each. @source RFC 6749, section 2.3.1 */
function shownBy({ headers }: Exchange): { caller: null; basic: BasicCredentials | null } {
  const [, encoded] = BASIC.exec(headers.get('authorization') ?? '') ?? [];
  if (encoded === undefined) return { caller: null, basic: null };
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const parts = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  const [id = '', secret = ''] = parts.map(formDecoded);
  return { caller: null, basic: { id, secret } };
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** `X-Audit-Log-Reason` is percent-encoded UTF-8; text that does not decode is taken as it stands. */
function reasonOf({ headers }: Exchange): string | null {
  const header = headers.get('x-audit-log-reason');
  if (header === undefined || header === '') return null;
  try {
    return decodeURIComponent(header);
  } catch {
    return header;
  }
}

/**
 * Reads a body to its end without keeping it, so that a client which is still sending hears why it was refused
 * instead of a reset. True when there is no end to be had.
 */
async function discarded(body: BodyStream | null): Promise<boolean> {
  return body !== null && (await body.discard()) !== 'complete';
}

type Content =
  | { readonly ok: true; readonly body: unknown; readonly files: readonly Upload[] }
  | { readonly ok: false; readonly refusal: Refusal; readonly close: boolean };

async function readContent(
  exchange: Exchange,
  { operation }: Entry,
  body: BodyStream | null,
  { settings }: ApiDeps,
): Promise<Content> {
  if (body === null) return { ok: true, body: undefined, files: [] };
  const contentType = exchange.headers.get('content-type') ?? '';
  const [kind = ''] = contentType.toLowerCase().split(';', 1);
  // A body nobody asked for (some clients send `{}` with every DELETE) is none of our business.
  if (!operation?.body && !operation?.multipart) return unread(await body.discard());
  if (operation.oauth2 && kind.trim() === FORM) return readFormBody(body);
  if (kind.trim() === 'application/json' && !operation.oauth2) return readJsonBody(body);
  if (operation.multipart && kind.trim() === 'multipart/form-data') {
    const form = createFormReader(contentType, settings.fileBytesMax);
    const end = await body.consume((chunk) => form.write(chunk));
    if (end !== 'complete') return { ok: false, refusal: refusalOf(end), close: true };
    const read = await form.end();
    return read.ok ? read : { ...read, close: false };
  }
  const close = (await body.discard()) !== 'complete';
  return { ok: false, refusal: wrongType(operation), close };
}

const FORM = 'application/x-www-form-urlencoded';

function unread(end: BodyEnd): Content {
  if (end !== 'complete') return { ok: false, refusal: refusalOf(end), close: true };
  return { ok: true, body: undefined, files: [] };
}

async function readJsonBody(body: BodyStream): Promise<Content> {
  const whole = await readWhole(body);
  if (!whole.ok) return whole;
  if (whole.bytes === null) return { ok: true, body: undefined, files: [] };
  const read = readJson(whole.bytes);
  return read.ok ? { ok: true, body: read.value, files: [] } : { ...read, close: false };
}

/** A field that comes twice is a list, which no schema of a form takes. @source RFC 6749, section 3.2 */
async function readFormBody(body: BodyStream): Promise<Content> {
  const whole = await readWhole(body);
  if (!whole.ok) return whole;
  const text = Buffer.from(whole.bytes ?? []).toString('utf8');
  return { ok: true, body: readQuery(text), files: [] };
}

type Whole =
  | { readonly ok: true; readonly bytes: Uint8Array | null }
  | { readonly ok: false; readonly refusal: Refusal; readonly close: boolean };

/** All bytes of a body; null when there are none. */
async function readWhole(body: BodyStream): Promise<Whole> {
  const chunks: Uint8Array[] = [];
  const end = await body.consume((chunk) => chunks.push(chunk));
  if (end !== 'complete') return { ok: false, refusal: refusalOf(end), close: true };
  const [first] = chunks;
  return {
    ok: true,
    bytes: first === undefined ? null : chunks.length === 1 ? first : Buffer.concat(chunks),
  };
}

function refusalOf(end: Exclude<BodyEnd, 'complete'>): Refusal {
  if (end === 'tooLarge') return TOO_LARGE;
  if (end === 'overloaded') return refusal('SERVICE_UNAVAILABLE');
  return REQUEST_TIMEOUT;
}

function wrongType({ multipart, oauth2 }: AnyOperation): Refusal {
  const types = oauth2
    ? `'${FORM}'`
    : multipart
      ? "'application/json', 'multipart/form-data'"
      : "'application/json'";
  const message = `Expected "Content-Type" header to be one of {${types}}.`;
  return { ...invalidForm({ _errors: [{ code: 'CONTENT_TYPE_INVALID', message }] }), status: 415 };
}

/**
 * A fault of the environment is 503 and worth a retry; a bug is 500 and is not. That nobody serves a call now is no
 * news: it is counted, and what is behind it has been written down where it is known.
 */
function faultResult(fault: unknown, { operationId }: Entry, { logger }: ApiDeps): Result {
  if (fault instanceof NotServed) return unavailable(fault.retryAfterSec);
  const bug =
    fault instanceof TypeError ||
    fault instanceof RangeError ||
    (fault instanceof Error && fault.name === 'AssertionError');
  logger.error({ err: fault, operationId }, bug ? 'A bug ended a call.' : 'A fault ended a call.');
  return bug ? resultOf(refusal('INTERNAL_ERROR')) : unavailable(RETRY_AFTER_SEC);
}

const RETRY_AFTER_SEC = 1;

const unavailable = (retryAfterSec: number): Result =>
  resultOf(refusal('SERVICE_UNAVAILABLE'), { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSec))) });
