import { timingSafeEqual } from 'node:crypto';
import type { Routing } from '../../actors/cluster/routing.ts';
import type { AtHand } from '../../actors/runtime/recent.ts';
import { inTurns } from '../../actors/runtime/turns.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { StoredToken, UserFact } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { Secret } from './secret.ts';
import { createTokenCache, type TokenCacheBounds, type TokenCachePorts } from './tokencache.ts';
import { claimedUser, hashOf, makeToken } from './tokens.ts';

interface IdentityPorts extends TokenCachePorts {
  /** Resolves when the facts of a user are durable. */
  commit(userId: UserId, facts: readonly UserFact[]): Promise<void>;
  /**
   * Called once earlier tokens of the user, or the named one, no longer count: their sessions are to be closed with
   * 4004.
   */
  revoked(userId: UserId, tokenId?: string): void;
  nextId(): string;
  /** Unix milliseconds. */
  nowMs(): number;
  randomBytes(size: number): Uint8Array;
  /** Every shard forgets, and closes its sessions. */
  readonly routing: Pick<Routing, 'everywhere'>;
  readonly security?: SecurityTrail;
}

type Kind = StoredToken['kind'];

const revocation = ({ id }: StoredToken): UserFact => ({ type: 'tokenRevoked', tokenId: id });

/** A token, and the fact that makes it valid. */
interface PreparedToken {
  /** Shown once; only its hash is kept. */
  readonly token: Secret;
  readonly fact: UserFact;
}

/** Who may call: tokens are made, checked and revoked here and nowhere else. */
export interface Identity {
  /** Users whose tokens are in memory. */
  readonly cached: AtHand;
  /**
   * The owner of a token, or null when it is none of ours. One database read per user not at hand, also for wrong
   * tokens; otherwise one SHA-256.
   *
   * @throws Error when the database fails or too many look-ups are under way.
   */
  authenticate(token: string): Promise<Principal | null>;
  /** A token to be committed together with other facts of the same user; then call `forget`. */
  prepare(userId: UserId, kind: Kind): PreparedToken;
  /** Issues a token beside those that the user has; beyond `TOKENS_MAX` the oldest goes. */
  issue(userId: UserId, kind: Kind): Promise<Secret>;
  /** Issues a token and revokes all earlier ones. */
  rotate(userId: UserId, kind: Kind): Promise<Secret>;
  /** Ends one token, and the sessions that it opened. */
  revoke(userId: UserId, tokenId: string): Promise<void>;
  revokeAll(userId: UserId): Promise<void>;
  /** Drops what is at hand about a user: its tokens or the flags of its application changed. */
  forget(userId: UserId): void;
  /** Drops all that is at hand here: some of what other shards have told may be missing. */
  forgetAll(): void;
}

/** Tokens of one user: each is compared with whatever claims to be the user's. */
export const TOKENS_MAX = 64;

const BOUNDS: TokenCacheBounds = { users_max: 20_000, lookups_max: 1000 };

function preparedToken(ports: IdentityPorts, userId: UserId, kind: Kind): PreparedToken {
  const token = makeToken(userId, ports.nowMs(), ports.randomBytes);
  const stored: StoredToken = { id: ports.nextId(), userId, kind, hash: hashOf(token.reveal()) };
  return { token, fact: { type: 'tokenIssued', token: stored } };
}

export function createIdentity(ports: IdentityPorts, bounds: TokenCacheBounds = BOUNDS): Identity {
  const cache = createTokenCache(ports, bounds);
  const inTurn = inTurns<UserId>();
  const prepare = (userId: UserId, kind: Kind) => preparedToken(ports, userId, kind);
  const { everywhere } = ports.routing;
  const forget = everywhere('identity.forget', (userId: UserId) => cache.forget(userId));
  const revoked = everywhere('identity.revoked', (userId: UserId, tokenId: string | null) => {
    cache.forget(userId);
    ports.revoked(userId, tokenId ?? undefined);
  });

  /** Revokes what is stored and adds what is given, in one commit; in turn, so that two rotations leave one token. */
  function replace(userId: UserId, added: readonly UserFact[]): Promise<void> {
    return inTurn(userId, async () => {
      const earlier = await ports.users.tokens(userId);
      await ports.commit(userId, [...earlier.map(revocation), ...added]);
      revoked(userId, null);
    });
  }

  return {
    prepare,
    forget,
    forgetAll: () => cache.forgetAll(() => true),
    get cached() {
      return cache.atHand;
    },
    async revokeAll(userId) {
      await replace(userId, []);
      ports.security?.('tokens_revoked', { user_id: userId });
    },

    async authenticate(token) {
      const userId = claimedUser(token);
      if (userId === null) return null;
      const { hashes, principals } = await cache.lookUp(userId);
      const hash = Buffer.from(hashOf(token), 'hex');
      return principals.find((_, index) => timingSafeEqual(hashes[index]!, hash)) ?? null;
    },

    async issue(userId, kind) {
      const { token, fact } = prepare(userId, kind);
      await inTurn(userId, async () => {
        const earlier = await ports.users.tokens(userId);
        const evicted = earlier.slice(0, Math.max(0, earlier.length + 1 - TOKENS_MAX));
        await ports.commit(userId, [...evicted.map(revocation), fact]);
        forget(userId);
        for (const { id } of evicted) revoked(userId, id);
      });
      return token;
    },

    revoke: (userId, tokenId) =>
      inTurn(userId, async () => {
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
