import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { Reply } from '../../engine/outcome.ts';
import type { SigningAlgorithm, TokenHeader } from '../../engine/provisional/idtoken.ts';
import { type Discovery, discoveryUrl, readDiscovery } from '../../engine/provisional/issuer.ts';
import { refusal } from '../../protocol/refusal.ts';
import { inTurns } from '../runtime/turns.ts';
import type { Outgoing } from './ports.ts';

/** Who signs, and where its keys are: a given place, or the one that its discovery document names. */
export interface Signer {
  readonly issuer: string;
  readonly jwksUri: string | null;
}

export interface KeySetPorts {
  readonly outgoing: Outgoing;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

export interface KeySetBounds {
  /** Issuers whose keys are at hand; the one unused for longest goes. */
  readonly issuers_max: number;
  /** Keys of one issuer that are looked at. */
  readonly keys_max: number;
  /** How long a discovery document counts. */
  readonly discovery_age_ms: number;
  /** After this, keys are asked for again: a key that was taken back counts no longer than this. */
  readonly keys_age_ms: number;
  /** Keys that cannot be asked for again count this long. */
  readonly stale_age_ms: number;
  /** Requests to one issuer on the word of a token, at least this far apart. */
  readonly retry_ms: number;
}

export const KEY_SET_BOUNDS: KeySetBounds = {
  issuers_max: 256,
  keys_max: 64,
  discovery_age_ms: 60 * 60_000,
  keys_age_ms: 10 * 60_000,
  stale_age_ms: 24 * 60 * 60_000,
  retry_ms: 10_000,
};

interface KeySet {
  discovery: Discovery | null;
  discoveredMs: number;
  /** By key id. */
  keys: ReadonlyMap<string, ImportedKey>;
  fetchedMs: number;
  /** The last attempt at anything, whatever came of it. */
  triedMs: number;
}

interface ImportedKey {
  readonly jwk: JWK;
  /** By algorithm, once it was needed. */
  readonly imported: Map<SigningAlgorithm, Promise<CryptoKey>>;
}

const NEVER = Number.NEGATIVE_INFINITY;
const NO_CONFIGURATION = { ok: false, refusal: refusal('OIDC_CONFIG_NOT_FOUND') } as const;
const NO_KEYS = { ok: false, refusal: refusal('OIDC_KEYS_NOT_FOUND') } as const;
const INVALID = { ok: false, refusal: refusal('INVALID_OIDC_TOKEN') } as const;

/**
 * The public keys of issuers. They rotate: an unknown key id makes them be asked for anew, but however many tokens name
 * unknown keys, an issuer is asked at most once in `retry_ms`.
 */
export function createKeySets(ports: KeySetPorts, bounds: KeySetBounds = KEY_SET_BOUNDS) {
  /** Least recently used first. */
  const sets = new Map<string, KeySet>();
  const inTurn = inTurns<string>();

  function setOf({ issuer, jwksUri }: Signer): KeySet {
    const name = `${issuer} ${jwksUri ?? ''}`;
    const set = sets.get(name) ?? {
      discovery: null,
      discoveredMs: NEVER,
      keys: new Map(),
      fetchedMs: NEVER,
      triedMs: NEVER,
    };
    sets.delete(name);
    sets.set(name, set);
    if (sets.size > bounds.issuers_max) sets.delete(sets.keys().next().value!);
    return set;
  }

  const isFresh = (set: KeySet, nowMs: number) =>
    nowMs - set.discoveredMs <= bounds.discovery_age_ms && nowMs - set.fetchedMs <= bounds.keys_age_ms;

  async function refresh(set: KeySet, signer: Signer, nowMs: number): Promise<void> {
    if (nowMs - set.triedMs < bounds.retry_ms) return;
    set.triedMs = nowMs;
    if (nowMs - set.discoveredMs > bounds.discovery_age_ms) {
      const discovery = await discover(signer).catch(() => null);
      if (discovery === null) return;
      set.discovery = discovery;
      set.discoveredMs = nowMs;
    }
    const keys = await fetchKeys(set.discovery!.jwksUri).catch(() => null);
    if (keys === null) return;
    set.keys = keys;
    set.fetchedMs = nowMs;
  }

  async function discover({ issuer, jwksUri }: Signer): Promise<Discovery | null> {
    if (jwksUri !== null) return { jwksUri, algorithms: ['RS256', 'ES256'] };
    return readDiscovery(await ports.outgoing.json({ url: discoveryUrl(issuer) }), issuer);
  }

  async function fetchKeys(url: string): Promise<ReadonlyMap<string, ImportedKey> | null> {
    const document = await ports.outgoing.json({ url });
    const list = (document as { readonly keys?: unknown } | null)?.keys;
    if (!Array.isArray(list)) return null;
    return new Map(
      list.slice(0, bounds.keys_max).flatMap((key: unknown): [string, ImportedKey][] => {
        const jwk = verifying(key);
        return jwk?.kid === undefined ? [] : [[jwk.kid, { jwk, imported: new Map() }]];
      }),
    );
  }

  return {
    /** The key that a token names. A refusal: 530008, 530009, or 530020 when the issuer has no such key. */
    async key(signer: Signer, { keyId, algorithm }: TokenHeader): Promise<Reply<CryptoKey>> {
      const set = setOf(signer);
      if (!isFresh(set, ports.monotonic()) || !set.keys.has(keyId))
        await inTurn(signer.issuer, async () => {
          const nowMs = ports.monotonic();
          if (!isFresh(set, nowMs) || !set.keys.has(keyId)) await refresh(set, signer, nowMs);
        });
      if (set.discovery === null) return NO_CONFIGURATION;
      if (ports.monotonic() - set.fetchedMs > bounds.stale_age_ms) return NO_KEYS;
      const found = set.keys.get(keyId);
      if (!found || !set.discovery.algorithms.includes(algorithm)) return INVALID;
      if (found.jwk.alg !== undefined && found.jwk.alg !== algorithm) return INVALID;
      return imported(found, algorithm);
    },

    /** Asks an issuer for its discovery document and keys now: for the check of a configuration. */
    async probe(issuer: string): Promise<Reply<null>> {
      const discovery = await discover({ issuer, jwksUri: null }).catch(() => null);
      if (discovery === null) return NO_CONFIGURATION;
      const keys = await fetchKeys(discovery.jwksUri).catch(() => null);
      return keys === null ? NO_KEYS : { ok: true, value: null };
    },
  };
}

export type KeySets = ReturnType<typeof createKeySets>;

/** What of a JWK is for checking signatures: never a private or a shared key. */
function verifying(key: unknown): JWK | null {
  if (typeof key !== 'object' || key === null) return null;
  const { kty, kid, use, alg, n, e, crv, x, y } = key as Record<string, string>;
  if (typeof kid !== 'string' || (use !== undefined && use !== 'sig')) return null;
  const named = { kid, ...(alg === undefined ? {} : { alg }) };
  if (kty === 'RSA') return { kty, n, e, ...named } as JWK;
  return kty === 'EC' ? ({ kty, crv, x, y, ...named } as JWK) : null;
}

async function imported(
  { jwk, imported: made }: ImportedKey,
  algorithm: SigningAlgorithm,
): Promise<Reply<CryptoKey>> {
  const key = made.get(algorithm) ?? (importJWK({ ...jwk }, algorithm) as Promise<CryptoKey>);
  made.set(algorithm, key);
  try {
    return { ok: true, value: await key };
  } catch {
    return INVALID;
  }
}
