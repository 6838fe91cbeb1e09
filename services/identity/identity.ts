import { hash, timingSafeEqual } from 'node:crypto';
import type { Routing } from '../../actors/placement/routing.ts';
import { batchReads, type Cache, type CacheUsage, createCache } from '../../actors/runtime/cache.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { StoredToken, UserFact } from '../../engine/user/facts.ts';
import { type FreshId, isUserId, type UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { Secret } from '../../protocol/secret.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { UserStore } from '../../storage/user/port.ts';

/**
 * A token has three base64url segments: the user's id, the time of issue, and 256 random bits. Two client libraries read
 * the id from the first segment; only the last one is secret.
 *
 * @source https://docs.discord.com/developers/reference#authentication; the lengths of the segments as clients check
 * them
 */
const TOKEN = /^([\w-]{2,28})\.[\w-]{6}\.[\w-]{43}$/;
const TOKEN_CHARACTERS_MAX = 80;
const SECRET_BYTES = 32;

/** Generates a token. `nowMs` is Unix milliseconds; `randomBytes` must be cryptographic. */
export function makeToken(userId: UserId, nowMs: number, randomBytes: (size: number) => Uint8Array): Secret {
  const time = Buffer.alloc(4);
  time.writeUInt32BE(Math.floor(nowMs / 1000) >>> 0);
  const parts = [Buffer.from(userId, 'latin1'), time, Buffer.from(randomBytes(SECRET_BYTES))];
  return new Secret(parts.map((part) => part.toString('base64url')).join('.'));
}

/** The user id in a token, not authenticated; null for a malformed token. */
export function claimedUser(token: string): UserId | null {
  if (token.length > TOKEN_CHARACTERS_MAX) return null;
  const segment = TOKEN.exec(token)?.[1];
  if (segment === undefined) return null;
  const id = Buffer.from(segment, 'base64url').toString('latin1');
  return isUserId(id) ? id : null;
}

/** Hexadecimal SHA-256, the stored form of secrets with full entropy. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Compares two hexadecimal SHA-256 hashes in constant time. */
export const sameHash = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));

/** The valid token hashes of one user and the principal of each, by index. */
interface CachedTokens {
  readonly hashes: readonly string[];
  readonly principals: readonly Principal[];
}

interface TokenCachePorts {
  readonly users: Pick<UserStore, 'tokens' | 'get'>;
  readonly applications: Pick<ApplicationStore, 'byBot'>;
}

interface TokenCacheBounds {
  /** Most users in the cache. */
  readonly users_max: number;
  /** Most concurrent database reads; further look-ups fail. */
  readonly lookups_max: number;
}

/** Caches the tokens of recently seen users. */
function createTokenCache(ports: TokenCachePorts, bounds: TokenCacheBounds): Cache<UserId, CachedTokens> {
  const stored = batchReads<StoredToken[], UserId>(async (userIds) => {
    const byUser = new Map(userIds.map((userId): [UserId, StoredToken[]] => [userId, []]));
    for (const token of await ports.users.tokens(userIds)) byUser.get(token.userId)?.push(token);
    return byUser;
  });
  async function load(userId: UserId): Promise<CachedTokens> {
    const tokens = (await stored(userId)) ?? [];
    const isBot = tokens.some((token) => token.kind === 'bot');
    const application = isBot ? await ports.applications.byBot(userId) : null;
    return {
      hashes: tokens.map((token) => token.hash),
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

/** Caches the latest callers: their tokens, with the principal of each, and their accounts. */
function createCallerCache(ports: TokenCachePorts, bounds: TokenCacheBounds) {
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
    const principal = tokens.principals[tokens.hashes.findIndex((one) => sameHash(one, hash))];
    if (!principal) return null;
    verified.set(hash, { tokens, principal });
    dropOldest(verified, bounds.users_max);
    return principal;
  }

  return {
    get usage() {
      return tokensOf.usage;
    },
    /** The principal of a user's own token if it was verified before; otherwise null. */
    verified: (token: string): Principal | null => knownPrincipal(hashOf(token)),
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

interface IdentityPorts extends TokenCachePorts {
  /** Resolves when the facts of a user are durable. */
  commit(userId: UserId, facts: readonly UserFact[]): Promise<void>;
  /**
   * Called when the earlier tokens of the user, or the named one, are revoked: their sessions must be closed with 4004.
   */
  revoked(userId: UserId, tokenId?: string): void;
  nextId(): FreshId;
  /** Unix milliseconds. */
  nowMs(): number;
  randomBytes(size: number): Uint8Array;
  /** Broadcasts invalidations and revocations to every shard. */
  readonly routing: Pick<Routing, 'tellAll'>;
  readonly security?: SecurityTrail;
}

type Kind = StoredToken['kind'];

/** Finds the principal of a token that an application was granted; null for an invalid one. */
type FindGranted = (token: string) => Promise<Principal | null>;

const revocation = ({ id }: StoredToken): UserFact => ({ type: 'tokenRevoked', tokenId: id });

/** A token with which a session was opened. */
export interface TokenInUse {
  readonly userId: UserId;
  readonly tokenId: string;
}

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
   * @param isBearer Whether the caller presents it as a bearer token, which decides only where it is looked up first.
   * @throws Error when the database fails or too many look-ups are under way.
   */
  authenticate(token: string, isBearer?: boolean): Promise<Principal | null>;
  /** From now on, tokens that applications were granted are authenticated by `find`. */
  acceptGranted(find: FindGranted): void;
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
  /** Ends the sessions of those tokens that were revoked without notice to them, because the shard that revoked them died. */
  endRevoked(held: readonly TokenInUse[]): Promise<void>;
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

const endingRevoked =
  ({ users }: IdentityPorts, revoked: (userId: UserId, tokenId: string) => void): Identity['endRevoked'] =>
  async (held) => {
    const stored = await users.tokens([...new Set(held.map(({ userId }) => userId))]);
    const valid = new Set(stored.map(({ id }) => id));
    for (const { userId, tokenId } of held) if (!valid.has(tokenId)) revoked(userId, tokenId);
  };

export function createIdentity(ports: IdentityPorts, bounds: TokenCacheBounds = BOUNDS): Identity {
  const callers = createCallerCache(ports, bounds);
  const mutex = keyedMutex<UserId>();
  let findGranted: FindGranted = () => Promise.resolve(null);
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
      const earlier = await ports.users.tokens([userId]);
      await ports.commit(userId, [...earlier.map(revocation), ...added]);
      revoked(userId, null);
    });
  }

  return {
    ...{ prepare, forget },
    endRevoked: endingRevoked(ports, revoked),
    account: callers.account,
    forgetAll: callers.forgetAll,
    get cached() {
      return callers.usage;
    },
    async revokeAll(userId) {
      await replace(userId, []);
      ports.security?.('tokens_revoked', { user_id: userId });
    },

    async authenticate(token, isBearer = false) {
      // Almost every bearer token is one that an application was granted: looking there first saves a read of the others.
      if (isBearer) return callers.verified(token) ?? (await findGranted(token)) ?? callers.principal(token);
      return (await callers.principal(token)) ?? findGranted(token);
    },

    acceptGranted(find) {
      findGranted = find;
    },

    async issue(userId, kind) {
      const { token, fact } = prepare(userId, kind);
      await mutex(userId, async () => {
        const earlier = await ports.users.tokens([userId]);
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
