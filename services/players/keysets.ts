import type { CryptoKey, JWK } from 'jose';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { SigningAlgorithm, TokenHeader } from '../../engine/provisional/idtoken.ts';
import { type Discovery, discoveryUrl, readDiscovery } from '../../engine/provisional/issuer.ts';
import { isRecord } from '../../protocol/json.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { OutgoingHttp } from './ports.ts';

/** An issuer and the URL of its keys; null takes the URL from its discovery document. */
export interface Signer {
  readonly issuer: string;
  readonly jwksUri: string | null;
}

interface KeySetPorts {
  readonly outgoing: OutgoingHttp;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

interface KeySetBounds {
  /** Most issuers in the cache; the least recently used is evicted. */
  readonly issuers_max: number;
  /** Most keys read from one issuer. */
  readonly keys_max: number;
  /** How long a discovery document is cached. */
  readonly discovery_age_ms: number;
  /** Age after which keys are fetched again; a withdrawn key is accepted no longer than this. */
  readonly keys_age_ms: number;
  /** How long cached keys are used while the issuer cannot be reached. */
  readonly stale_age_ms: number;
  /** Least time between requests to one issuer that tokens cause. */
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
  /** When the last attempt ended, successful or not. */
  attemptedMs: number;
}

type NamedKey = JWK & { readonly kid: string };

interface ImportedKey {
  readonly jwk: NamedKey;
  /** By algorithm, imported on first use. */
  readonly imported: Map<SigningAlgorithm, Promise<CryptoKey>>;
}

const NEVER = Number.NEGATIVE_INFINITY;
const NO_CONFIGURATION = { ok: false, refusal: refusal('OIDC_CONFIG_NOT_FOUND') } as const;
const NO_KEYS = { ok: false, refusal: refusal('OIDC_KEYS_NOT_FOUND') } as const;
const INVALID = { ok: false, refusal: refusal('INVALID_OIDC_TOKEN') } as const;

/**
 * Caches the public keys of issuers. Keys rotate, so an unknown key id causes a fetch, but at most one per issuer in
 * `retry_ms`, however many tokens name unknown keys.
 */
export class KeySets {
  readonly #ports: KeySetPorts;
  readonly #bounds: KeySetBounds;
  /** Least recently used first. */
  readonly #sets = new Map<string, KeySet>();
  readonly #mutex = keyedMutex<string>();

  constructor(ports: KeySetPorts, bounds: KeySetBounds = KEY_SET_BOUNDS) {
    this.#ports = ports;
    this.#bounds = bounds;
  }

  /** The key that a token names. A refusal: 530008, 530009, or 530020 when the issuer has no such key. */
  async key(signer: Signer, { keyId, algorithm }: TokenHeader): Promise<Reply<CryptoKey>> {
    const set = this.#setOf(signer);
    if (!this.#serves(set, keyId))
      await this.#mutex(signer.issuer, async () => {
        if (!this.#serves(set, keyId)) await this.#refresh(set, signer);
      });
    if (set.discovery === null) return NO_CONFIGURATION;
    if (this.#ports.monotonic() - set.fetchedMs > this.#bounds.stale_age_ms) return NO_KEYS;
    const found = set.keys.get(keyId);
    if (!found || !set.discovery.algorithms.includes(algorithm)) return INVALID;
    if (found.jwk.alg !== undefined && found.jwk.alg !== algorithm) return INVALID;
    return importedKeyOf(found, algorithm);
  }

  /** Fetches discovery document and keys of an issuer now, to validate a configuration. */
  async probe(issuer: string): Promise<Reply<null>> {
    const discovery = await this.#discover({ issuer, jwksUri: null });
    if (discovery === null) return NO_CONFIGURATION;
    return (await this.#fetchKeys(discovery.jwksUri)) === null ? NO_KEYS : { ok: true, value: null };
  }

  #setOf({ issuer, jwksUri }: Signer): KeySet {
    const name = `${issuer} ${jwksUri ?? ''}`;
    const set = this.#sets.get(name) ?? emptySet();
    this.#sets.delete(name);
    this.#sets.set(name, set);
    dropOldest(this.#sets, this.#bounds.issuers_max);
    return set;
  }

  /** Whether the cached set is fresh and contains the key. */
  #serves({ discoveredMs, fetchedMs, keys }: KeySet, keyId: string): boolean {
    const { discovery_age_ms, keys_age_ms } = this.#bounds;
    const nowMs = this.#ports.monotonic();
    return nowMs - discoveredMs <= discovery_age_ms && nowMs - fetchedMs <= keys_age_ms && keys.has(keyId);
  }

  async #refresh(set: KeySet, signer: Signer): Promise<void> {
    const nowMs = this.#ports.monotonic();
    if (nowMs - set.attemptedMs < this.#bounds.retry_ms) return;
    try {
      await this.#fetch(set, signer, nowMs);
    } finally {
      // Measured from its end: callers that waited for a hanging issuer are refused instead of waiting for another attempt.
      set.attemptedMs = this.#ports.monotonic();
    }
  }

  async #fetch(set: KeySet, signer: Signer, nowMs: number): Promise<void> {
    if (nowMs - set.discoveredMs > this.#bounds.discovery_age_ms) {
      const discovery = await this.#discover(signer);
      if (discovery === null) return;
      set.discovery = discovery;
      set.discoveredMs = nowMs;
    }
    const keys = await this.#fetchKeys(set.discovery!.jwksUri);
    if (keys === null) return;
    set.keys = keys;
    set.fetchedMs = nowMs;
  }

  /** Null when the issuer does not answer or its document is invalid. */
  async #discover({ issuer, jwksUri }: Signer): Promise<Discovery | null> {
    if (jwksUri !== null) return { jwksUri, algorithms: ['RS256', 'ES256'] };
    return readDiscovery(await this.#json(discoveryUrl(issuer)), issuer);
  }

  async #fetchKeys(url: string): Promise<ReadonlyMap<string, ImportedKey> | null> {
    const found = await this.#json(url);
    if (!isRecord(found) || !Array.isArray(found.keys)) return null;
    const keys = found.keys.slice(0, this.#bounds.keys_max).map(signatureKeyOf);
    return new Map(keys.flatMap((jwk) => (jwk ? [[jwk.kid, { jwk, imported: new Map() }] as const] : [])));
  }

  #json(url: string): Promise<unknown> {
    return this.#ports.outgoing.json({ url }).catch(() => null);
  }
}

const emptySet = (): KeySet => ({
  discovery: null,
  discoveredMs: NEVER,
  keys: new Map(),
  fetchedMs: NEVER,
  attemptedMs: NEVER,
});

/** The public signature key of a JWK; null for any other key. Copies no private parameters. */
function signatureKeyOf(key: unknown): NamedKey | null {
  if (typeof key !== 'object' || key === null) return null;
  const { kty, kid, use, alg, n, e, crv, x, y } = key as Record<string, string>;
  if (typeof kid !== 'string' || (use !== undefined && use !== 'sig')) return null;
  const named = { kid, ...(alg === undefined ? {} : { alg }) };
  if (kty === 'RSA') return { kty, n, e, ...named } as NamedKey;
  return kty === 'EC' ? ({ kty, crv, x, y, ...named } as NamedKey) : null;
}

async function importedKeyOf(
  { jwk, imported: made }: ImportedKey,
  algorithm: SigningAlgorithm,
): Promise<Reply<CryptoKey>> {
  const imported = async () => (await import('jose')).importJWK({ ...jwk }, algorithm) as Promise<CryptoKey>;
  const key = made.get(algorithm) ?? imported();
  made.set(algorithm, key);
  try {
    return { ok: true, value: await key };
  } catch {
    return INVALID;
  }
}
