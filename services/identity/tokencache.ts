import { type Cache, createCache } from '../../actors/runtime/cache.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { UserStore } from '../../storage/user/port.ts';

/** The valid token hashes of one user and the principal of each, by index. */
interface CachedTokens {
  readonly hashes: readonly Buffer[];
  readonly principals: readonly Principal[];
}

export interface TokenCachePorts {
  readonly users: Pick<UserStore, 'tokens'>;
  readonly applications: Pick<ApplicationStore, 'byBot'>;
}

export interface TokenCacheBounds {
  /** Most users in the cache. */
  readonly users_max: number;
  /** Most concurrent database reads; further look-ups fail. */
  readonly lookups_max: number;
}

/** Caches the tokens of recently seen users. */
export function createTokenCache(
  ports: TokenCachePorts,
  bounds: TokenCacheBounds,
): Cache<UserId, CachedTokens> {
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
