import { timingSafeEqual } from 'node:crypto';
import type { Routing } from '../../actors/placement/routing.ts';
import { type CacheBounds, createCache } from '../../actors/runtime/cache.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Chain, Code } from '../../engine/oauth/facts.ts';
import { grantOf, type Holdings } from '../../engine/oauth/holdings.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Scope, Scopes } from '../../protocol/scopes.ts';
import type { OAuthStore } from '../../storage/oauth/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { claimedUser, hashOf } from '../identity/tokens.ts';

export interface GrantCachePorts {
  readonly store: OAuthStore;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  readonly routing: Routing;
  /** Unix milliseconds. */
  nowMs(): number;
}

/** An access token in the cache. */
interface CachedToken {
  /** Hexadecimal SHA-256, sharing the string of its chain; a Buffer per token would hold a slab of Node's pool. */
  readonly hash: string;
  readonly principal: Principal;
  readonly expiresMs: number;
}

interface CachedGrants {
  readonly held: Holdings;
  readonly tokens: readonly CachedToken[];
}

const BOUNDS: CacheBounds = { kept_max: 20_000, reads_max: 1_000 };

/** Most distinct scope lists that tokens share. Applications request the same few. */
const SCOPE_LISTS_MAX = 256;

interface ScopeList {
  readonly list: readonly Scope[];
  readonly set: Scopes;
}

/** Returns the same objects for equal scope lists, because thousands of players hold the list that their game requests. */
function createScopeLists(): (scopes: readonly Scope[]) => ScopeList {
  const known = new Map<string, ScopeList>();
  return (scopes) => {
    const key = scopes.join(' ');
    const found = known.get(key);
    if (found) return found;
    const made = { list: scopes, set: new Set(scopes) };
    if (known.size < SCOPE_LISTS_MAX) known.set(key, made);
    return made;
  };
}

type ScopeLists = ReturnType<typeof createScopeLists>;

const withSharedScopes = (held: Holdings, scopeLists: ScopeLists): Holdings => ({
  ...held,
  grants: held.grants.map((grant) => ({ ...grant, scopes: scopeLists(grant.scopes).list })),
  chains: held.chains.map((chain) => ({ ...chain, scopes: scopeLists(chain.scopes).list })),
});

function tokensOf(userId: UserId, held: Holdings, shared: ScopeLists): CachedToken[] {
  return held.chains.flatMap((chain) => {
    const { applicationId, accessHash, expiresMs } = chain;
    const grant = grantOf(held, applicationId);
    if (!grant) return [];
    const scopes = shared(chain.scopes).set;
    const authorization: Authorization = { id: grant.id, applicationId, scopes, expiresMs };
    const principal = { userId, bot: false, applicationId, applicationFlags: 0, authorization };
    return [{ hash: accessHash, principal, expiresMs }];
  });
}

/** Compares two hexadecimal SHA-256 hashes in constant time. */
export const sameHash = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));

/** Caches the grants and tokens of users, and changes those of one user in order. */
export function createGrantCache(ports: GrantCachePorts, bounds: CacheBounds = BOUNDS) {
  const mutex = keyedMutex<UserId>();
  const shared = createScopeLists();
  const cache = createCache<UserId, CachedGrants>(
    async (userId) => {
      const held = withSharedScopes(await ports.store.holdings(userId), shared);
      return { held, tokens: tokensOf(userId, held, shared) };
    },
    bounds,
    ports.nowMs,
  );
  const forget = ports.routing.tellAll('oauth.forget', (userId: UserId) => cache.forget(userId));
  ports.routing.onMoved((moved) => cache.forgetAll(moved));

  return {
    get cached() {
      return cache.usage;
    },

    forgetAll: () => cache.forgetAll(() => true),

    grantors: (applicationId: ApplicationId, limit: number) => ports.store.grantors(applicationId, limit),

    async holdings(userId: UserId): Promise<Holdings> {
      return (await cache.lookUp(userId)).held;
    },

    /** The principal of an access token; null for an unknown or expired one. */
    async principalOf(accessToken: string, nowMs: number): Promise<Principal | null> {
      const userId = claimedUser(accessToken);
      if (userId === null) return null;
      const hash = hashOf(accessToken);
      const passOf = ({ tokens: passes }: CachedGrants) =>
        passes.find((candidate) => sameHash(candidate.hash, hash));
      let pass = passOf(await cache.lookUp(userId));
      // Another shard may have issued the token a moment ago.
      if (!pass && !ports.routing.standalone) pass = passOf(await cache.refresh(userId));
      return pass && pass.expiresMs > nowMs ? pass.principal : null;
    },

    /**
     * Decides on the stored state and commits the facts, in order with all other changes of this user. The cache entry is
     * invalidated on every shard before it resolves.
     */
    change<Value>(
      userId: UserId,
      decide: (held: Holdings) => { readonly value: Value; readonly facts: readonly StoredFact[] },
    ): Promise<Value> {
      return mutex(userId, async () => {
        const { value, facts } = decide(await ports.store.holdings(userId));
        if (facts.length === 0) return value;
        try {
          await ports.commit(userId, facts);
        } finally {
          // Also after a fault, when the outcome of the commit is unknown.
          forget(userId);
        }
        return value;
      });
    },
  };
}

export type GrantCache = ReturnType<typeof createGrantCache>;

/** The chain of a refresh token, and whether the token was used before. */
export function chainOfRefresh(
  held: Holdings,
  hash: string,
): { readonly chain: Chain; readonly spent: boolean } | null {
  for (const chain of held.chains) {
    if (chain.refreshHash !== null && sameHash(chain.refreshHash, hash)) return { chain, spent: false };
    if (chain.spentHashes.some((spent) => sameHash(spent, hash))) return { chain, spent: true };
  }
  return null;
}

/** The chain of an access or refresh token. */
export const chainOfToken = (held: Holdings, hash: string): Chain | null =>
  held.chains.find(
    ({ accessHash, refreshHash }) =>
      sameHash(accessHash, hash) || (refreshHash !== null && sameHash(refreshHash, hash)),
  ) ?? null;

export const codeOf = (held: Holdings, hash: string): Code | null =>
  held.codes.find((code) => sameHash(code.hash, hash)) ?? null;
