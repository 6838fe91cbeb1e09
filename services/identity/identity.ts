import type { Routing } from '../../actors/placement/routing.ts';
import type { CacheUsage } from '../../actors/runtime/cache.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { StoredToken, UserFact } from '../../engine/user/facts.ts';
import type { FreshId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { Secret } from './secret.ts';
import { createCallerCache, type TokenCacheBounds, type TokenCachePorts } from './tokencache.ts';
import { hashOf, makeToken } from './tokens.ts';

interface IdentityPorts extends TokenCachePorts {
  /** Resolves when the facts of a user are durable. */
  commit(userId: UserId, facts: readonly UserFact[]): Promise<void>;
  /**
   * Called when the earlier tokens of the user, or the named one, are revoked: their sessions must be closed with 4004.
   */
  revoked(userId: UserId, tokenId?: string): void;
  /** The principal of a token that an application was granted; null for an invalid one. */
  granted?(token: string): Promise<Principal | null>;
  nextId(): FreshId;
  /** Unix milliseconds. */
  nowMs(): number;
  randomBytes(size: number): Uint8Array;
  /** Broadcasts invalidations and revocations to every shard. */
  readonly routing: Pick<Routing, 'tellAll'>;
  readonly security?: SecurityTrail;
}

type Kind = StoredToken['kind'];

const revocation = ({ id }: StoredToken): UserFact => ({ type: 'tokenRevoked', tokenId: id });

/** A token with the fact that makes it valid. */
interface PreparedToken {
  /** Shown once; only its hash is kept. */
  readonly token: Secret;
  readonly fact: UserFact;
}

/** Issues, authenticates and revokes the tokens of users and bots. */
export interface Identity {
  /** Users whose tokens are in memory. */
  readonly cached: CacheUsage;
  /**
   * The principal of a token, of the user's own or one that an application was granted; null for an invalid one. Costs one SHA-256, and one database read for each user that is not
   * cached, also for invalid tokens.
   *
   * @throws Error when the database fails or too many look-ups are under way.
   */
  authenticate(token: string): Promise<Principal | null>;
  /**
   * The account of a user who calls, from memory if it was read before; null for an unknown user.
   *
   * @throws Error when the database fails or too many look-ups are under way.
   */
  account(userId: UserId): Promise<APIUser | null>;
  /** Generates a token to commit together with other facts of the user; call `forget` after the commit. */
  prepare(userId: UserId, kind: Kind): PreparedToken;
  /** Issues an additional token; beyond `TOKENS_MAX` the oldest is revoked. */
  issue(userId: UserId, kind: Kind): Promise<Secret>;
  /** Issues a token and revokes all earlier ones. */
  rotate(userId: UserId, kind: Kind): Promise<Secret>;
  /** Revokes one token and closes the sessions that it opened. */
  revoke(userId: UserId, tokenId: string): Promise<void>;
  revokeAll(userId: UserId): Promise<void>;
  /** Invalidates what is cached of a user on all shards: after the account, its tokens or the flags of its application changed. */
  forget(userId: UserId): void;
  /** Clears the cache of this shard, after invalidations of other shards may have been missed. */
  forgetAll(): void;
}

/** Most tokens of one user; authentication compares a token with each of them. */
export const TOKENS_MAX = 64;

const BOUNDS: TokenCacheBounds = { users_max: 20_000, lookups_max: 1000 };

function preparedToken(ports: IdentityPorts, userId: UserId, kind: Kind): PreparedToken {
  const token = makeToken(userId, ports.nowMs(), ports.randomBytes);
  const stored: StoredToken = { id: ports.nextId(), userId, kind, hash: hashOf(token.reveal()) };
  return { token, fact: { type: 'tokenIssued', token: stored } };
}

export function createIdentity(ports: IdentityPorts, bounds: TokenCacheBounds = BOUNDS): Identity {
  const callers = createCallerCache(ports, bounds);
  const mutex = keyedMutex<UserId>();
  const prepare = (userId: UserId, kind: Kind) => preparedToken(ports, userId, kind);
  const { tellAll } = ports.routing;
  const forget = tellAll('identity.forget', (userId: UserId) => callers.forget(userId));
  const revoked = tellAll('identity.revoked', (userId: UserId, tokenId: string | null) => {
    callers.forget(userId);
    ports.revoked(userId, tokenId ?? undefined);
  });

  /** Revokes all stored tokens and adds the given facts in one commit. Runs in order, so that two rotations leave one token. */
  function replace(userId: UserId, added: readonly UserFact[]): Promise<void> {
    return mutex(userId, async () => {
      const earlier = await ports.users.tokens(userId);
      await ports.commit(userId, [...earlier.map(revocation), ...added]);
      revoked(userId, null);
    });
  }

  return {
    prepare,
    forget,
    account: callers.account,
    forgetAll: callers.forgetAll,
    get cached() {
      return callers.usage;
    },
    async revokeAll(userId) {
      await replace(userId, []);
      ports.security?.('tokens_revoked', { user_id: userId });
    },

    authenticate: async (token) => (await callers.principal(token)) ?? ports.granted?.(token) ?? null,

    async issue(userId, kind) {
      const { token, fact } = prepare(userId, kind);
      await mutex(userId, async () => {
        const earlier = await ports.users.tokens(userId);
        const evicted = earlier.slice(0, Math.max(0, earlier.length + 1 - TOKENS_MAX));
        await ports.commit(userId, [...evicted.map(revocation), fact]);
        forget(userId);
        for (const { id } of evicted) revoked(userId, id);
      });
      return token;
    },

    revoke: (userId, tokenId) =>
      mutex(userId, async () => {
        await ports.commit(userId, [{ type: 'tokenRevoked', tokenId }]);
        revoked(userId, tokenId);
      }),

    async rotate(userId, kind) {
      const { token, fact } = prepare(userId, kind);
      await replace(userId, [fact]);
      ports.security?.('token_rotated', { user_id: userId, kind });
      return token;
    },
  };
}
