import { createHash } from 'node:crypto';
import type { InvalidCalls } from '../../engine/ratelimit/invalid.ts';
import type { Attempt, Verdict } from '../../engine/ratelimit/limiter.ts';
import { networkOf } from '../../protocol/addresses.ts';
import { isSnowflake, snowflakeMs } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { CatalogEntry } from './catalog.ts';
import type { AgedBucket, Caller } from './operation.ts';
import { errorBody, type Result, textOf } from './result.ts';

/** The rate limiters, from `engine/ratelimit`. */
interface LimitRules {
  /** Counts one call; in a cluster the verdict may come from another shard. */
  take(attempt: Attempt): Verdict | Promise<Verdict>;
  readonly invalid: InvalidCalls;
}

/** `refused` is set when the answer is 429; the headers are added to any answer. */
interface Admission {
  readonly headers: Readonly<Record<string, string>>;
  readonly refused?: Result;
}

/** Applies the rate limits to REST calls: verdicts become headers, refusals become answers. */
export interface Limits {
  /** Counts one call. */
  admit(
    entry: CatalogEntry,
    params: Readonly<Record<string, string>>,
    caller: Caller | null,
    address: string,
  ): Promise<Admission>;
  /**
   * Counts an admitted call in its bucket by the body; null for an operation without one. The headers replace those of
   * `admit`.
   */
  admitBody(
    entry: CatalogEntry,
    body: unknown,
    caller: Caller | null,
    address: string,
  ): Promise<Admission> | null;
  /** Counts failed calls of an address by the status of their answers. */
  observe(address: string, result: Result): void;
}

/** Statuses that count as failed calls. 413 is one: an oversized body costs the server more than a wrong token. */
const IN_VAIN: ReadonlySet<number> = new Set([401, 403, 413, 429]);

/** Bucket shared by operations that are not implemented and by unknown routes. */
const UNBUILT = { per: null, limit: 10, windowMs: 1_000 } as const;

/** One client library treats a 429 without `Via` as a ban by an edge proxy, and stops instead of waiting. */
const VIA = { Via: '1.1 guildhall' };

const seconds = (ms: number): string => (ms / 1000).toFixed(3);

/** The token in a path: of a webhook, or of an interaction. */
const tokenIn = (params: Readonly<Record<string, string>>): string | undefined =>
  params.webhook_token ?? params.interaction_token;

/**
 * The bucket owner of a call: the caller or, for a call under a token in its path, that token, so that a webhook has one
 * limit from wherever it is called, and a wrong token spends nothing of it. The token itself is not kept.
 */
function principalOf(
  params: Readonly<Record<string, string>>,
  caller: Caller | null,
  address: string,
): string {
  const token = tokenIn(params);
  if (token !== undefined) return `token ${createHash('sha256').update(token).digest('base64url')}`;
  return caller?.userId ?? networkOf(address);
}

/** The bucket of a call and its key: the caller, or the application while its development limits apply. */
function bucketOf(
  { operation }: CatalogEntry,
  caller: Caller | null,
  principal: string,
  development: boolean,
) {
  const bucket = operation?.bucket ?? UNBUILT;
  if (!development || !('development' in bucket) || !bucket.development || !caller?.applicationId)
    return { bucket, principal };
  return {
    bucket: { ...bucket, ...bucket.development, per: null },
    principal: `application ${caller.applicationId}`,
  };
}

/**
 * @param clock `monotonic` for the windows, `now` (Unix milliseconds) for `X-RateLimit-Reset`.
 * @param development Whether applications are held to the limits for unapproved applications.
 */
export function createLimits(
  { take, invalid }: LimitRules,
  clock: { now(): number; monotonic(): number },
  development = false,
): Limits {
  return {
    async admit(entry, params, caller, address) {
      const blockedMs = invalid.blockedMs(networkOf(address), clock.monotonic());
      if (blockedMs > 0) return { headers: {}, refused: tooMany(blockedMs, 'global', {}) };
      const payer = principalOf(params, caller, address);
      const { bucket, principal } = bucketOf(entry, caller, payer, development);
      const verdict = await take({
        principal,
        group: entry.bucketHash,
        major: bucket.per === null ? '' : (params[bucket.per] ?? ''),
        rule: bucket,
        globalExempt: tokenIn(params) !== undefined,
      });
      const headers = headersOf(verdict, entry.bucketHash, clock.now());
      if (!verdict.allowed) return { headers, refused: tooMany(verdict.resetMs, verdict.scope, headers) };
      const aged = agedBucketOf(entry, params, clock.now());
      const waitMs = aged ? await agedWaitMs(take, aged, params, principal) : 0;
      return aged && waitMs > 0 ? { headers, refused: tooOften(aged, waitMs, headers) } : { headers };
    },
    admitBody(entry, body, caller, address) {
      const rule = entry.operation?.bodyBucket;
      if (!rule) return null;
      const major = isRecord(body) ? String(body[rule.of] ?? '') : '';
      const principal = caller?.userId ?? networkOf(address);
      const group = `${entry.bucketHash} ${rule.of}`;
      const admission = (verdict: Verdict): Admission => {
        const headers = headersOf(verdict, entry.bucketHash, clock.now());
        if (verdict.allowed) return { headers };
        return { headers, refused: tooMany(verdict.resetMs, verdict.scope, headers) };
      };
      return Promise.resolve(take({ principal, group, major, rule, globalExempt: true })).then(admission);
    },
    observe(address, { status, headers }) {
      if (!IN_VAIN.has(status)) return;
      if (headers['X-RateLimit-Scope'] !== 'shared') invalid.count(networkOf(address), clock.monotonic());
    },
  };
}

/** The bucket for calls on old objects. */
function agedBucketOf(
  { operation }: CatalogEntry,
  params: Readonly<Record<string, string>>,
  nowMs: number,
): AgedBucket | null {
  const aged = operation?.agedBucket;
  const id = aged && params[aged.of];
  return id && isSnowflake(id) && nowMs - snowflakeMs(id) >= aged.afterMs ? aged : null;
}

/** How long until the bucket has room, milliseconds; 0 when it has taken the call. */
async function agedWaitMs(
  take: LimitRules['take'],
  aged: AgedBucket,
  params: Readonly<Record<string, string>>,
  principal: string,
): Promise<number> {
  const major = aged.per === null ? '' : (params[aged.per] ?? '');
  const group = aged.refusal;
  const { allowed, resetMs } = await take({ principal, group, major, rule: aged, globalExempt: true });
  return allowed ? 0 : resetMs;
}

function tooOften(
  { refusal: name }: AgedBucket,
  waitMs: number,
  headers: Readonly<Record<string, string>>,
): Result {
  const waitSec = Math.ceil(waitMs) / 1000;
  const no = { ...refusal(name), retryAfterSec: waitSec };
  return { status: no.status, headers: { ...headers, ...waitHeaders(waitSec, 'user') }, body: errorBody(no) };
}

function headersOf(verdict: Verdict, bucketHash: string, nowMs: number): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(verdict.limit),
    'X-RateLimit-Remaining': String(verdict.remaining),
    'X-RateLimit-Reset': seconds(nowMs + verdict.resetMs),
    'X-RateLimit-Reset-After': seconds(verdict.resetMs),
    'X-RateLimit-Bucket': bucketHash,
  };
}

/**
 * An answer 429. Its scope decides which headers and fields it has: a global one has no bucket, because clients would take
 * its limit and reset for those of the route.
 *
 * @source https://docs.discord.com/developers/topics/rate-limits, "Example Exceeded Global Rate Limit Response"
 */
export function tooMany(
  waitMs: number,
  scope: 'user' | 'shared' | 'global',
  headers: Readonly<Record<string, string>>,
): Result {
  const global = scope === 'global';
  return {
    status: 429,
    headers: {
      ...(global ? { 'X-RateLimit-Global': 'true' } : headers),
      ...waitHeaders(waitMs / 1000, scope),
    },
    body: {
      // The platform gives every error a code, but documents none for this one.
      code: 0,
      message: textOf('RATE_LIMITED'),
      retry_after: Math.ceil(waitMs) / 1000,
      global,
    },
  };
}

/** Headers that tell the client when to retry. */
export function waitHeaders(
  retryAfterSec: number,
  scope: 'user' | 'global' | 'shared',
): Record<string, string> {
  return { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSec))), 'X-RateLimit-Scope': scope, ...VIA };
}
