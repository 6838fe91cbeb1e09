import { timingSafeEqual } from 'node:crypto';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Chain, Code } from '../../engine/oauth/facts.ts';
import { grantOf, type Holdings } from '../../engine/oauth/holdings.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { OAuthStore } from '../../storage/ports.oauth.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { claimedUser, hashOf } from '../identity/tokens.ts';
import { createRecent, type RecentBounds } from '../runtime/recent.ts';
import { inTurns } from '../runtime/turns.ts';
import type { Principal } from '../session/ports.ts';

export interface HolderPorts {
  readonly store: OAuthStore;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
}

/** An access token as it is recognised. */
interface Pass {
  readonly hash: Buffer;
  readonly principal: Principal;
  readonly expiresMs: number;
}

interface Known {
  readonly held: Holdings;
  readonly passes: readonly Pass[];
}

const BOUNDS: RecentBounds = { kept_max: 20_000, reads_max: 1_000 };

function passesOf(userId: UserId, held: Holdings): Pass[] {
  return held.chains.flatMap((chain) => {
    const { applicationId, accessHash, expiresMs } = chain;
    const grant = grantOf(held, applicationId);
    if (!grant) return [];
    const scopes = new Set(chain.scopes);
    const authorization: Authorization = { id: grant.id, applicationId, scopes, expiresMs };
    const principal = { userId, bot: false, applicationId, applicationFlags: 0, authorization };
    return [{ hash: Buffer.from(accessHash, 'hex'), principal, expiresMs }];
  });
}

/** Whether two hashes are the same, in constant time. Both hexadecimal SHA-256. */
export const sameHash = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));

/** What people have let applications do, one person at a time: read at hand, changed in turn. */
export function createHolders(ports: HolderPorts, bounds: RecentBounds = BOUNDS) {
  const inTurn = inTurns<UserId>();
  const recent = createRecent<UserId, Known>(async (userId) => {
    const held = await ports.store.holdings(userId);
    return { held, passes: passesOf(userId, held) };
  }, bounds);

  return {
    get atHand() {
      return recent.atHand;
    },

    grantors: (applicationId: ApplicationId, limit: number) => ports.store.grantors(applicationId, limit),

    async holdings(userId: UserId): Promise<Holdings> {
      return (await recent.lookUp(userId)).held;
    },

    /** Whose access token this is; null when it is nobody's, or over. */
    async passOf(accessToken: string, nowMs: number): Promise<Principal | null> {
      const userId = claimedUser(accessToken);
      if (userId === null) return null;
      const { passes } = await recent.lookUp(userId);
      const hash = Buffer.from(hashOf(accessToken), 'hex');
      const pass = passes.find((candidate) => timingSafeEqual(candidate.hash, hash));
      return pass && pass.expiresMs > nowMs ? pass.principal : null;
    },

    /**
     * Decides on what is stored now and makes it durable, in turn with everything else of this person. Nothing of what
     * was remembered counts any more when it resolves.
     */
    change<Value>(
      userId: UserId,
      decide: (held: Holdings) => { readonly value: Value; readonly facts: readonly StoredFact[] },
    ): Promise<Value> {
      return inTurn(userId, async () => {
        const { value, facts } = decide(await ports.store.holdings(userId));
        if (facts.length === 0) return value;
        try {
          await ports.commit(userId, facts);
        } finally {
          // Also after a fault: what became of the commit is then not known.
          recent.forget(userId);
        }
        return value;
      });
    },
  };
}

export type Holders = ReturnType<typeof createHolders>;

/** The chain that a refresh token belongs to, and whether the token has been used before. */
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

/** The chain that a token of either kind counts in. */
export const chainOfToken = (held: Holdings, hash: string): Chain | null =>
  held.chains.find(
    ({ accessHash, refreshHash }) =>
      sameHash(accessHash, hash) || (refreshHash !== null && sameHash(refreshHash, hash)),
  ) ?? null;

export const codeOf = (held: Holdings, hash: string): Code | null =>
  held.codes.find((code) => sameHash(code.hash, hash)) ?? null;
