import { readFileSync } from 'node:fs';
import { routed } from '../actors/cluster/routing/routed.ts';
import type { Provisional } from '../services/players/ports.ts';
import { startProvisional } from '../services/players/start.ts';
import { PROVISIONAL_ROUTES } from '../services/routes.ts';
import { createOutgoing } from '../transports/identity/outgoing.ts';
import type { Site } from './site.ts';

/** Of answers of identity providers: their documents are small. */
const ANSWER_BYTES_MAX = 256 << 10;
const ANSWER_TIMEOUT_MS = 10_000;
const REQUESTS_MAX = 64;

/** Provisional accounts of this house; what an earlier run left unfinished is taken up as soon as the house stands. */
export function createProvisional(site: Site): Provisional {
  const { config, storage, clock, telling, onFault } = site;
  const outgoing = createOutgoing({
    privateOrigins: originsOf(config.identity_issuers_private),
    extraCa: config.identity_ca_file === null ? null : readFileSync(config.identity_ca_file, 'utf8'),
    timeoutMs: ANSWER_TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    requestsMax: REQUESTS_MAX,
  });
  const provisional = startProvisional({
    storage,
    outgoing,
    signOut: (userId) => site.parts().accounts.closeAll(userId, null),
    oauth: () => site.parts().oauth,
    mergeables: () => [site.parts().lobbies, site.parts().social],
    commit: site.commitAsOwner,
    routing: site.routing,
    notify(userId, t, d, among) {
      telling.tell(userId, t, d, { own: true, applications: among ?? 'all' });
      site.hooks.tap.see(t, d, userId);
    },
    wheel: site.wheel,
    onFault: (error) => onFault(error, 'provisional'),
    nextId: site.nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes: site.randomBytes,
  });
  return routed('provisional', provisional, PROVISIONAL_ROUTES, site.cluster);
}

/** Origins out of a list that commas part. */
const originsOf = (list: string | null): ReadonlySet<string> =>
  new Set(
    (list ?? '').split(',').flatMap((text) => (URL.canParse(text.trim()) ? [new URL(text).origin] : [])),
  );
