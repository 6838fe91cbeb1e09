import type { OAuthFacts } from '../../engine/oauth/facts.ts';
import type { Holdings } from '../../engine/oauth/holdings.ts';
import type { IdentityFacts, Move } from '../../engine/provisional/facts.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { APIUser } from '../../protocol/objects.ts';

export const NOTHING_HELD: Holdings = { grants: [], chains: [], codes: [] };

export const identityKey = (applicationId: string, of: ExternalIdentity): string =>
  JSON.stringify([applicationId, of.providerType, of.providerId, of.providerIssuedUserId]);

interface AccountTables {
  readonly users: Map<string, APIUser>;
  readonly identities: Map<string, Identity>;
  readonly moves: Map<string, Move>;
  readonly holdings: Map<string, Holdings>;
}

/** What facts of identities and of consent write. */
export function accountRows({ users, identities, moves, holdings }: AccountTables) {
  const change = (userId: string, to: (held: Holdings) => Partial<Holdings>): void => {
    const held = holdings.get(userId) ?? NOTHING_HELD;
    holdings.set(userId, { ...held, ...to(held) });
  };
  return {
    identityWritten: (_: string, { identity }: IdentityFacts['identityWritten']) =>
      identities.set(identityKey(identity.applicationId, identity), identity),
    moveBegun: (_: string, { move }: IdentityFacts['moveBegun']) => moves.set(move.id, move),
    moveEnded: (_: string, { moveId }: IdentityFacts['moveEnded']) => moves.delete(moveId),
    provisionalDeleted: (_: string, { userId }: IdentityFacts['provisionalDeleted']) => {
      users.delete(userId);
      holdings.delete(userId);
    },
    grantWritten: (_: string, { grant }: OAuthFacts['grantWritten']) =>
      change(grant.userId, ({ grants }) => ({
        grants: [...grants.filter(({ applicationId }) => applicationId !== grant.applicationId), grant],
      })),
    grantEnded: (_: string, { userId, applicationId }: OAuthFacts['grantEnded']) => {
      const others = (each: { readonly applicationId: string }) => each.applicationId !== applicationId;
      change(userId, ({ grants, chains, codes }) => ({
        ...{ grants: grants.filter(others), chains: chains.filter(others), codes: codes.filter(others) },
      }));
    },
    chainWritten: (_: string, { chain }: OAuthFacts['chainWritten']) =>
      change(chain.userId, ({ chains }) => ({
        chains: [...chains.filter(({ id }) => id !== chain.id), chain],
      })),
    chainEnded: (_: string, { userId, chainId }: OAuthFacts['chainEnded']) =>
      change(userId, ({ chains }) => ({ chains: chains.filter(({ id }) => id !== chainId) })),
  };
}
