import type { Chaos } from '../../engine/chaos/chaos.ts';
import type { RestRule } from '../../protocol/chaos.ts';
import type { CatalogEntry } from './catalog.ts';
import { tooMany } from './limits.ts';
import type { Result } from './result.ts';

/** Answers a call with an injected failure, after an injected delay; null when the call is to be served. */
export type RestChaos = (entry: CatalogEntry, userId: string | null) => Promise<Result | null>;

const RETRY_AFTER_SEC = 1;
const STATUS = 503;
const MESSAGES: Readonly<Record<number, string>> = {
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};
/** The limit in the headers of an injected 429. */
const LIMIT = 5;

interface ChaosClock {
  now(): number;
  setTimer(run: () => void, delayMs: number): { cancel(): void };
}

async function pause(clock: ChaosClock, delayMs: number): Promise<void> {
  let timer: { cancel(): void } | null = null;
  await new Promise<void>((resolve) => {
    timer = clock.setTimer(resolve, delayMs);
  }).finally(() => timer?.cancel());
}

/** Applies the rules for REST calls. */
export const restChaos =
  (chaos: Chaos, clock: ChaosClock): RestChaos =>
  async ({ operationId, bucketHash }, userId) => {
    const rules = chaos.rest({ name: operationId, userId });
    const delayMs = rules.reduce((sum, rule) => (rule.do === 'latency' ? sum + rule.ms : sum), 0);
    if (delayMs > 0) await pause(clock, delayMs);
    const failure = rules.find((rule) => rule.do !== 'latency');
    return failure ? answerOf(failure, bucketHash, clock.now()) : null;
  };

function answerOf(rule: RestRule, bucketHash: string, nowMs: number): Result {
  if (rule.do !== 'rate_limit') {
    const status = rule.do === 'error' ? (rule.status ?? STATUS) : STATUS;
    return {
      status,
      headers: {},
      body: { code: 0, message: `${status}: ${MESSAGES[status] ?? 'Server Error'}` },
    };
  }
  const { scope, retry_after: waitSec = RETRY_AFTER_SEC } = rule;
  const bucket = {
    'X-RateLimit-Limit': String(LIMIT),
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': (nowMs / 1000 + waitSec).toFixed(3),
    'X-RateLimit-Reset-After': waitSec.toFixed(3),
    'X-RateLimit-Bucket': bucketHash,
  };
  return tooMany(waitSec * 1000, scope, bucket);
}
