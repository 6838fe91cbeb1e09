import type { Grant } from '../../engine/oauth/facts.ts';
import type { Application } from '../../engine/user/facts.ts';
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

/** A public key as a JWKS lists it. @source RFC 7517 */
export interface PublicKey {
  readonly kty: string;
  readonly use: string;
  readonly kid: string;
  readonly n: string;
  readonly e: string;
  readonly alg: string;
}

/** Who a client showed itself to be. */
export interface Client {
  readonly application: Application;
  /** It showed its secret. A public one may come without; what it may do then is for each grant to say. */
  readonly proved: boolean;
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

  /** What the user lets applications do, oldest first. */
  grants(userId: UserId): Promise<readonly Grant[]>;
  /**
   * Who shows these credentials; null for an unknown application, a wrong secret, or none where the application is
   * not a public one. An empty secret is none. In constant time.
   */
  client(applicationId: string, secret: string | null): Promise<Client | null>;
  /** Those that ID tokens may be signed with: a JWKS. */
  publicKeys(): Promise<readonly PublicKey[]>;
}
