import type { Clock } from '../actors/runtime/clock.ts';
import type { Config } from '../config/config.ts';
import { INVALID_CALLS, type InvalidCalls, watchInvalidCalls } from '../engine/ratelimit/invalid.ts';
import { createLimiter } from '../engine/ratelimit/limiter.ts';
import type { SecurityTrail } from '../protocol/security.ts';
import type { Storage } from '../storage/ports.ts';
import { createCatalog } from '../transports/rest/catalog.ts';
import { embeddedCalls } from '../transports/rest/embedded.ts';
import { createLimits } from '../transports/rest/limits.ts';
import { createPipeline, type Hooks } from '../transports/rest/pipeline.ts';
import { operations, unlisted } from '../transports/rest/resources/index.ts';
import type { Services } from '../transports/rest/services.ts';

/** Windows of the rate limits kept at most; the emptiest make room. */
const LIMIT_ENTRIES_MAX = 200_000;

/** One count of what addresses try in vain, wherever they do. */
export const watchAddresses = (security: SecurityTrail): InvalidCalls =>
  watchInvalidCalls(LIMIT_ENTRIES_MAX, INVALID_CALLS, (network, forMs) =>
    security('address_blocked', { network, reason: 'invalid_requests', wait_ms: Math.ceil(forMs) }),
  );

interface ApiPorts {
  readonly config: Config;
  readonly clock: Clock;
  readonly services: Services;
  readonly hooks: Hooks;
  readonly invalid: InvalidCalls;
  readonly storage: Pick<Storage, 'users' | 'applications'>;
  readonly publicUrl: () => string;
  /** Signs links to attachments. */
  readonly signUrl: (url: string) => string;
}

/** The operations as the network serves them, and as the embedding program calls them: one pipeline. */
export function createApi(ports: ApiPorts) {
  const { config, clock, services, hooks } = ports;
  const catalog = createCatalog({ ...operations, ...unlisted });
  const global = { limit: config.global_requests_per_sec, windowMs: 1_000 };
  const limits = config.rate_limits
    ? createLimits(
        {
          limiter: createLimiter({ global, entriesMax: LIMIT_ENTRIES_MAX }),
          invalid: ports.invalid,
        },
        clock,
        config.lobby_development_limits,
      )
    : null;
  const pipeline = createPipeline({ catalog, services, hooks, limits, signUrl: ports.signUrl });

  const calls = embeddedCalls({ ...ports, operationIds: [...catalog.keys()], pipeline });
  return { catalog, pipeline, operations: calls };
}
