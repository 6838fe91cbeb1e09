import { timingSafeEqual } from 'node:crypto';
import { type Cache, createCache } from '../../actors/runtime/cache.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { claimedUser, hashOf } from './tokens.ts';

/** The valid token hashes of one user and the principal of each, by index. */
interface CachedTokens {
  readonly hashes: readonly Buffer[];
  readonly principals: readonly Principal[];
}

export interface TokenCachePorts {
  readonly users: Pick<UserStore, 'tokens' | 'get'>;
  readonly applications: Pick<ApplicationStore, 'byBot'>;
}

export interface TokenCacheBounds {
  /** Most users in the cache. */
  readonly users_max: number;
  /** Most concurrent database reads; further look-ups fail. */
  readonly lookups_max: number;
}

/** Caches the tokens of recently seen users. */
function createTokenCache(ports: TokenCachePorts, bounds: TokenCacheBounds): Cache<UserId, CachedTokens> {
  async function load(userId: UserId): Promise<CachedTokens> {
    const tokens = await ports.users.tokens(userId);
    const isBot = tokens.some((token) => token.kind === 'bot');
    const application = isBot ? await ports.applications.byBot(userId) : null;
    return {
      hashes: tokens.map((token) => Buffer.from(token.hash, 'hex')),
      principals: tokens.map((token) => {
        const owner = token.kind === 'bot' ? application : null;
        return {
          userId,
          bot: token.kind === 'bot',
          applicationId: owner?.id ?? null,
          applicationFlags: owner?.flags ?? 0,
          authorization: null,
          tokenId: token.id,
        };
      }),
    };
  }
  return createCache(load, { kept_max: bounds.users_max, reads_max: bounds.lookups_max });
}

interface VerifiedToken {
  /** The tokens of its user when it was verified. */
  readonly tokens: CachedTokens;
  readonly principal: Principal;
}

/** What is in memory of the users who called last: their tokens, with the principal of each, and their accounts. */
export function createCallerCache(ports: TokenCachePorts, bounds: TokenCacheBounds) {
  const tokensOf = createTokenCache(ports, bounds);
  const accounts = createCache(async (userId: UserId) => (await ports.users.get([userId]))[0] ?? null, {
    kept_max: bounds.users_max,
    reads_max: bounds.lookups_max,
  });
  /**
   * Verified tokens by hash, so that the next request with one costs one SHA-256 and one look-up. One counts only while the
   * cache holds the very tokens that it was compared with: whatever removes those ends it at once. The oldest is dropped first.
   */
  const verified = new Map<string, VerifiedToken>();

  function knownPrincipal(hash: string): Principal | null {
    const known = verified.get(hash);
    if (!known) return null;
    if (tokensOf.peek(known.principal.userId) === known.tokens) return known.principal;
    verified.delete(hash);
    return null;
  }

  async function verify(token: string, hash: string): Promise<Principal | null> {
    const userId = claimedUser(token);
    if (userId === null) return null;
    const tokens = await tokensOf.lookUp(userId);
    const bytes = Buffer.from(hash, 'hex');
    const principal = tokens.principals[tokens.hashes.findIndex((one) => timingSafeEqual(one, bytes))];
    if (!principal) return null;
    verified.set(hash, { tokens, principal });
    dropOldest(verified, bounds.users_max);
    return principal;
  }

  return {
    get usage() {
      return tokensOf.usage;
    },
    /** The principal of a user's own token; null for an invalid one. */
    async principal(token: string): Promise<Principal | null> {
      const hash = hashOf(token);
      return knownPrincipal(hash) ?? verify(token, hash);
    },
    account: (userId: UserId): Promise<APIUser | null> => accounts.lookUp(userId),
    forget(userId: UserId): void {
      tokensOf.forget(userId);
      accounts.forget(userId);
    },
    forgetAll(): void {
      tokensOf.forgetAll(() => true);
      accounts.forgetAll(() => true);
    },
  };
}
