import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Scope, Scopes } from '../../protocol/scopes.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { Secret } from '../identity/secret.ts';
import type { Principal } from '../session/ports.ts';

/** What a token endpoint answers with; the secrets are shown once. */
export interface IssuedTokens {
  readonly accessToken: Secret;
  /** Null where the grant gives none (client credentials, provisional accounts, child tokens). */
  readonly refreshToken: Secret | null;
  readonly expiresInSec: number;
  readonly expiresMs: number;
  readonly scopes: Scopes;
  /** A signed JWT, when `openid` was granted. */
  readonly idToken: string | null;
}

export interface TokenOrder {
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  /** As asked for; those that they imply are added. */
  readonly scopes: Iterable<Scope>;
  readonly refreshable: boolean;
  /** Ends at this time at the latest, as a child's token ends with its parent's. Unix milliseconds. */
  readonly untilMs?: number;
  readonly nonce?: string | null;
  /** Committed together with the token. */
  readonly facts?: readonly StoredFact[];
}

/** Grants and their tokens, as the rest of the house uses them. The token endpoint and the consent page are its own. */
export interface OAuth {
  /** Null for a token that is unknown, malformed, expired or revoked. */
  authenticate(accessToken: string): Promise<Principal | null>;
  /** Makes the grant if there is none, and tokens for it. */
  issue(order: TokenOrder): Promise<IssuedTokens>;
  /** What the user lets the application do; null when nothing. */
  granted(userId: UserId, applicationId: ApplicationId): Promise<Scopes | null>;
  /**
   * Takes everything back: tokens no longer count from this moment, their sessions get OAUTH2_TOKEN_REVOKE and close
   * with 4004, and APPLICATION_DEAUTHORIZED is queued. `facts` are committed with it. False when nothing was granted.
   */
  deauthorize(userId: UserId, applicationId: ApplicationId, facts?: readonly StoredFact[]): Promise<boolean>;
}
