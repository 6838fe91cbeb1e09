import { WindowTable } from '../engine/ratelimit/table.ts';
import type { Storage } from '../storage/ports.ts';
import type { AddressWatch } from '../transports/http/addresswatch.ts';
import type { PagesDeps } from '../transports/pages/routes.ts';
import type { Foundation } from './foundation.ts';
import type { Parts } from './site.ts';

const MINUTE_MS = 60_000;
/** Forms of one address, and codes that one person tries for devices. */
const RULES = {
  form: { limit: 120, windowMs: MINUTE_MS },
  'device code': { limit: 20, windowMs: MINUTE_MS },
} as const;
const ENTRIES_MAX = 50_000;

interface PagePorts extends Pick<Foundation, 'config' | 'clock' | 'logger' | 'randomBytes'> {
  readonly parts: Pick<Parts, 'accounts' | 'oauth'>;
  readonly storage: Pick<Storage, 'applications'>;
  readonly watch: AddressWatch | null;
}

/** What the served pages stand on. */
export function pagesOver(ports: PagePorts, publicUrl: () => string): PagesDeps {
  const { config, parts, storage, clock } = ports;
  const windows = new WindowTable(ENTRIES_MAX);
  return {
    accounts: parts.accounts,
    oauth: parts.oauth,
    applications: storage.applications,
    publicUrl,
    fixedUrl: config.public_url,
    requestTimeoutMs: config.request_timeout_ms,
    trustProxy: config.trust_proxy,
    watch: ports.watch,
    take(what, key) {
      if (what === 'form' && !config.rate_limits) return 0;
      const taken = windows.take(`${what}\n${key}`, RULES[what], clock.monotonic());
      return taken.allowed ? 0 : taken.resetMs;
    },
    randomBytes: ports.randomBytes,
    clock,
    logger: ports.logger,
  };
}
