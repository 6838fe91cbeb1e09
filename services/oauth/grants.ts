import type { Routing } from '../../actors/placement/routing.ts';
import { batchReads, type CacheBounds, createCache } from '../../actors/runtime/cache.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Principal } from '../../actors/session/ports.ts';
import { webhookEvent } from '../../engine/application/webhookevents.ts';
import type { Env } from '../../engine/kernel/aggregate.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Chain, Code } from '../../engine/oauth/facts.ts';
import {
  agree,
  begin,
  grantOf,
  type Holdings,
  revokeGrant,
  TOKEN_LIFE_SEC,
} from '../../engine/oauth/holdings.ts';
import { type ApplicationId, compareIds, type FreshId, type UserId } from '../../protocol/ids.ts';
import type { Scope, Scopes } from '../../protocol/scopes.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { OAuthStore } from '../../storage/oauth/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { claimedUser, hashOf, sameHash } from '../identity/identity.ts';
import type { GrantInUse, IssuedTokens, OAuth, TokenOrder } from './ports.ts';
import { createTokenIssuer, type TokenIssuerPorts, type TokenPair } from './tokenissuer.ts';

export interface GrantCachePorts {
  readonly store: OAuthStore;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  readonly routing: Routing;
  readonly clock: Pick<Clock, 'now'>;
}

/** An access token in the cache. */
interface CachedToken {
  /** Hexadecimal SHA-256, sharing the string of its chain; a Buffer per token would hold a slab of Node's pool. */
  readonly hash: string;
  readonly principal: Principal;
  readonly expiresMs: number;
}

/** Cached part of a user's grants: only the fields that requests read, to keep the memory per connected player small. */
interface CachedGrants {
  readonly granted: readonly { readonly applicationId: ApplicationId; readonly scopes: Scopes }[];
  readonly tokens: readonly CachedToken[];
}

const BOUNDS: CacheBounds = { kept_max: 20_000, reads_max: 1_000 };

/** Most distinct scope lists that tokens share. Applications request the same few. */
const SCOPE_LISTS_MAX = 256;

/** Returns the same object for equal scopes, because thousands of players hold those that their game requests. */
function createSharedScopes(): (scopes: readonly Scope[]) => Scopes {
  const known = new Map<string, Scopes>();
  return (scopes) => {
    const key = scopes.join(' ');
    const found = known.get(key);
    if (found) return found;
    const made = new Set(scopes);
    if (known.size < SCOPE_LISTS_MAX) known.set(key, made);
    return made;
  };
}

type SharedScopes = ReturnType<typeof createSharedScopes>;

function tokensOf(userId: UserId, held: Holdings, shared: SharedScopes): CachedToken[] {
  return held.chains.flatMap((chain) => {
    const { applicationId, accessHash, expiresMs } = chain;
    const grant = grantOf(held, applicationId);
    if (!grant) return [];
    const scopes = shared(chain.scopes);
    const authorization: Authorization = { id: grant.id, applicationId, scopes, expiresMs };
    const principal = { userId, bot: false, applicationId, applicationFlags: 0, authorization };
    return [{ hash: accessHash, principal, expiresMs }];
  });
}

function cachedGrants(userId: UserId, held: Holdings, shared: SharedScopes): CachedGrants {
  const granted = held.grants.map(({ applicationId, scopes }) => ({ applicationId, scopes: shared(scopes) }));
  return { granted, tokens: tokensOf(userId, held, shared) };
}

/** Reads what a user has granted; concurrent reads share a query. */
function holdingsReader(store: Pick<OAuthStore, 'holdings'>): (userId: UserId) => Promise<Holdings> {
  const read = batchReads<Holdings, UserId>((userIds) => store.holdings(userIds));
  return async (userId) => (await read(userId)) ?? { grants: [], chains: [], codes: [] };
}

/** Caches the grants and tokens of users, and changes those of one user in order. */
export function createGrantCache(ports: GrantCachePorts, bounds: CacheBounds = BOUNDS) {
  const mutex = keyedMutex<UserId>();
  const shared = createSharedScopes();
  const holdings = holdingsReader(ports.store);
  const load = async (userId: UserId) => cachedGrants(userId, await holdings(userId), shared);
  const cache = createCache<UserId, CachedGrants>(load, bounds, () => ports.clock.now());
  const forget = ports.routing.tellAll('oauth.forget', (userId: UserId) => cache.forget(userId));
  ports.routing.onMoved((moved) => cache.forgetAll(moved));

  return {
    get cached() {
      return cache.usage;
    },

    forgetAll: () => cache.forgetAll(() => true),

    grantors: (applicationId: ApplicationId, limit: number) => ports.store.grantors(applicationId, limit),

    holdings,

    /** As they are stored now, also when another shard has changed them. Users without any are left out. */
    stored: (userIds: readonly UserId[]) => ports.store.holdings(userIds),

    /** The scopes that a user has granted an application; null without a grant. */
    async granted(userId: UserId, applicationId: ApplicationId): Promise<Scopes | null> {
      const { granted } = await cache.lookUp(userId);
      return granted.find((grant) => grant.applicationId === applicationId)?.scopes ?? null;
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
      if (!pass && ports.routing.inFlightMs > 0) pass = passOf(await cache.refresh(userId));
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
        const { value, facts } = decide(await holdings(userId));
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

export interface GrantPorts extends TokenIssuerPorts {
  readonly grantCache: GrantCache;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  nextId(): FreshId;
  /** Called when the tokens of a user and application are revoked: their sessions get OAUTH2_TOKEN_REVOKE and close. */
  revoked(userId: UserId, applicationId: ApplicationId): void;
  /** The sessions of a grant that has ended get OAUTH2_TOKEN_REVOKE and close; those of a later grant stay. */
  closeSessionsOfGrant(userId: UserId, applicationId: ApplicationId, grantId: string): void;
  /** Whether the user is banned from the server. */
  isBanned(userId: UserId): Promise<boolean>;
  /** Called after every revocation of a grant. */
  deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void>;
}

const deauthorizer =
  (ports: GrantPorts, envNow: () => Env): OAuth['deauthorize'] =>
  async (userId, applicationId, { silent } = { silent: false }) => {
    const [application, [user]] = await Promise.all([
      ports.applications.get(applicationId),
      ports.users.get([userId]),
    ]);
    const isRevoked = await ports.grantCache.change(userId, (held) => {
      const ended = revokeGrant(held, userId, applicationId);
      if (!ended) return { value: false, facts: [] };
      const notifies = application && user && !silent;
      const event = notifies ? webhookEvent(application, 'APPLICATION_DEAUTHORIZED', { user }, envNow()) : [];
      const all: StoredFact[] = [...ended, ...event];
      return { value: true, facts: all };
    });
    if (!isRevoked) return false;
    ports.revoked(userId, applicationId);
    await ports.deauthorized(userId, applicationId);
    return true;
  };

/** An order of this shard, with any facts to commit together with the token. */
type ChainOrder = Omit<TokenOrder, 'facts'> & { readonly facts?: readonly StoredFact[] };

/** Issues, authenticates and revokes grants and their tokens. */
export function createGrants(ports: GrantPorts) {
  const { grantCache } = ports;
  const { generate, respond } = createTokenIssuer(ports);
  const envNow = (): Env => ({ nowMs: ports.clock.now(), nextId: () => ports.nextId() });
  const deauthorize = deauthorizer(ports, envNow);

  /** The facts that make generated tokens valid, with their grant. */
  function startChain(held: Holdings, order: ChainOrder, { hashes }: TokenPair) {
    const env = envNow();
    const agreed = agree(held, order, env);
    // A thousand grants of one user; the platform has no refusal for it.
    if (!agreed)
      throw new Error(`Too many grants: user ${order.userId} cannot authorize another application.`);
    const lastMs = order.untilMs ?? Number.POSITIVE_INFINITY;
    const expiresMs = Math.min(env.nowMs + TOKEN_LIFE_SEC * 1000, lastMs);
    const begun = begin(held, { ...order, tokens: hashes, expiresMs }, env);
    const facts: StoredFact[] = [...agreed.facts, ...begun.facts, ...(order.facts ?? [])];
    return { chain: begun.chain, facts };
  }

  async function issue(order: ChainOrder): Promise<IssuedTokens> {
    const tokens = generate(order.userId, order.refreshable);
    const chain = await grantCache.change(order.userId, (held) => {
      const { chain, facts } = startChain(held, order, tokens);
      return { value: chain, facts };
    });
    await endIfBanned(order.userId, order.applicationId);
    return respond(tokens, chain, { nonce: order.nonce ?? null, agreedMs: ports.clock.now() });
  }

  /** Revokes the grant if the user is banned. Called after issuing, because a ban revokes only grants committed before it. */
  async function endIfBanned(userId: UserId, applicationId: ApplicationId): Promise<boolean> {
    if (!(await ports.isBanned(userId))) return false;
    await deauthorize(userId, applicationId);
    return true;
  }

  return {
    envNow,
    generate,
    startChain,
    respond,
    issue,
    endIfBanned,
    isBanned: (userId: UserId) => ports.isBanned(userId),
    deauthorize,
    grantors: (applicationId: ApplicationId, limit: number) => grantCache.grantors(applicationId, limit),
    authenticate: (accessToken: string) => grantCache.principalOf(accessToken, ports.clock.now()),
    granted: grantCache.granted,
    async endRevoked(held: readonly GrantInUse[]): Promise<void> {
      const holdings = await grantCache.stored([...new Set(held.map(({ userId }) => userId))]);
      for (const { userId, authorization } of held) {
        const isHeld = holdings.get(userId)?.grants.some(({ id }) => id === authorization.id);
        if (!isHeld) ports.closeSessionsOfGrant(userId, authorization.applicationId, authorization.id);
      }
    },
    async grants(userId: UserId) {
      const { grants } = await grantCache.holdings(userId);
      return [...grants].sort((a, b) => compareIds(a.id, b.id));
    },
  };
}

export type Grants = ReturnType<typeof createGrants>;
