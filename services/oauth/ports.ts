import type { CacheUsage } from '../../actors/runtime/cache.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Grant } from '../../engine/oauth/facts.ts';
import type { AuthorizeQuery, AuthorizeRequest } from '../../engine/oauth/request.ts';
import type { ExternalProof } from '../../engine/provisional/identity.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Scope, Scopes } from '../../protocol/scopes.ts';
import type { Secret } from '../../protocol/secret.ts';
import type { StoredFact } from '../../storage/ports.ts';

/** The facts of a new player's account. */
export type NewPlayerFact = Extract<StoredFact, { type: 'userCreated' | 'identityWritten' }>;

/** The response of the token endpoint; its secrets are shown once. */
export interface IssuedTokens {
  readonly accessToken: Secret;
  /** Null for grants without one: client credentials, provisional accounts, child tokens. */
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
  /** As requested, without the scopes that they imply. */
  readonly scopes: readonly Scope[] | Scopes;
  readonly refreshable: boolean;
  /** Latest expiry in Unix milliseconds, for a child's token that ends with its parent's. */
  readonly untilMs?: number;
  readonly nonce?: string | null;
  /** Committed together with the token. */
  readonly facts?: readonly NewPlayerFact[];
}

/** A public key of a JWKS. @source RFC 7517 */
export interface PublicKey {
  readonly kty: string;
  readonly use: string;
  readonly kid: string;
  readonly n: string;
  readonly e: string;
  readonly alg: string;
}

/** An authenticated client. */
export interface Client {
  readonly application: Application;
  /** Whether it presented its secret. A public client may omit it; each grant decides what is allowed then. */
  readonly proved: boolean;
}

/** A request to the token endpoint, with absent fields null. Only lengths are validated. */
export interface TokenRequest {
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly grantType: string;
  readonly code: string | null;
  readonly redirectUri: string | null;
  readonly codeVerifier: string | null;
  readonly refreshToken: string | null;
  readonly scope: string | null;
  readonly deviceCode: string | null;
  /** Proof of a provisional account to merge into the account of the grant. */
  readonly external: ExternalProof | null;
}

export interface TokenAnswer extends IssuedTokens {
  /** Wire object of the guild that the bot was added to. */
  readonly guild: object | null;
}

/** A guild of the user, with the fields that a consent page needs. */
export interface UserGuild {
  readonly id: GuildId;
  readonly name: string;
  readonly icon: string | null;
  /** Permissions of the user, decimal. */
  readonly permissions: string;
}

/** An authorization request as the consent page shows it. */
export interface Consent {
  readonly request: AuthorizeRequest;
  /** The user has granted all of it before and it installs nothing, so `prompt=none` skips the page. */
  readonly agreed: boolean;
  /** Guilds that the user may add the bot to, or only the fixed one; null when no bot is added. */
  readonly guilds: readonly UserGuild[] | null;
}

export type ConsentOutcome =
  | { readonly kind: 'consent'; readonly consent: Consent }
  /** Shown on the page. Never a redirect, because the redirect URI is not verified. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Redirects to the application with an error. */
  | { readonly kind: 'redirect'; readonly location: string };

/** The user's decision on an authorization request. */
export interface Decision {
  readonly authorize: boolean;
  /** Decimal subset of the requested permissions; null for all of them. */
  readonly permissions: string | null;
  readonly guildId: GuildId | null;
  readonly integrationType: 0 | 1 | null;
}

export type DecisionOutcome =
  /** `location` is null when the request has no redirect; the page then confirms the decision. */
  | { readonly kind: 'decided'; readonly location: string | null; readonly guildId: GuildId | null }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Authorization requests, for the consent page and the consent operations. Only for users themselves, not for applications. */
export interface Consents {
  describe(userId: UserId, query: AuthorizeQuery): Promise<ConsentOutcome>;
  /** Parses the request again, because a client may send another one than was described. */
  decide(userId: UserId, query: AuthorizeQuery, decision: Decision): Promise<DecisionOutcome>;
}

/** The code that a device displays and the code that it polls with. */
export interface DeviceCodes {
  readonly deviceCode: Secret;
  /** Eight letters that are hard to confuse. */
  readonly userCode: string;
  readonly expiresInSec: number;
  readonly intervalSec: number;
}

/** A device request that waits for the user. */
export interface WaitingDevice {
  /** Null for a device that is to be signed in as the user. */
  readonly application: Application | null;
  /** As requested. */
  readonly scopes: readonly Scope[];
  readonly state: 'pending' | 'granted' | 'denied';
}

/** Device authorization grants, for devices without a browser. @source RFC 8628 */
export interface Devices {
  begin(clientId: string, clientSecret: string | null, scope: string): Promise<Reply<DeviceCodes>>;
  /** Begins the sign-in of a device as a user, for programs of the user's own such as the command line. */
  beginSignIn(): Promise<DeviceCodes>;
  /** The user who has signed the device in, once; until then refuses with the RFC's error. */
  signedIn(deviceCode: string): Promise<Reply<UserId>>;
  /** Finds a request by the typed user code, in any case, with or without a hyphen. Null for an unknown or expired code. */
  look(userCode: string): Promise<WaitingDevice | null>;
  /** False when the request is unknown, expired or already decided. */
  finish(userId: UserId, userCode: string, granted: boolean): Promise<boolean>;
}

/** A grant with which a session was opened. */
export interface GrantInUse {
  readonly userId: UserId;
  readonly authorization: Pick<Authorization, 'id' | 'applicationId'>;
}

/** Grants and their tokens, for the rest of the server, and the endpoints of the authorization server. */
export interface OAuth {
  /** Users whose grants and tokens are in memory. */
  readonly cached: CacheUsage;
  /** Clears the cache, after invalidations of other shards may have been missed. */
  forgetAll(): void;
  /** Null for a token that is unknown, malformed, expired or revoked. */
  authenticate(accessToken: string): Promise<Principal | null>;
  /** Creates the grant unless it exists, and issues tokens for it. */
  issue(order: TokenOrder): Promise<IssuedTokens>;
  /** The scopes that the user has granted the application; null without a grant. */
  granted(userId: UserId, applicationId: ApplicationId): Promise<Scopes | null>;
  /**
   * Revokes the grant: its tokens become invalid, their sessions get OAUTH2_TOKEN_REVOKE and close with 4004, and
   * APPLICATION_DEAUTHORIZED is queued unless `silent`, which a merge of accounts uses. False without a grant.
   */
  deauthorize(
    userId: UserId,
    applicationId: ApplicationId,
    how?: { readonly silent: boolean },
  ): Promise<boolean>;
  /** Ends the sessions of those grants that were revoked without notice to them, because the shard that revoked them died. */
  endRevoked(held: readonly GrantInUse[]): Promise<void>;
  /** Up to `limit` users with a grant for the application, so that a caller can revoke them one by one. */
  grantors(applicationId: ApplicationId, limit: number): Promise<readonly UserId[]>;

  /** The user's grants, oldest first. */
  grants(userId: UserId): Promise<readonly Grant[]>;
  /**
   * Authenticates a client in constant time. Null for an unknown application, a wrong secret, or a missing or empty secret
   * of a confidential client.
   */
  client(applicationId: string, secret: string | null): Promise<Client | null>;
  /** The token endpoint. Refusals use the error codes of the RFC, except those of a merge. */
  token(request: TokenRequest): Promise<Reply<TokenAnswer>>;
  /**
   * The revocation endpoint: revokes the whole grant of the token's user. Tokens that are unknown or of another application
   * are ignored. @source RFC 7009, section 2.2
   */
  revoke(client: Client, token: string): Promise<void>;
  readonly consents: Consents;
  readonly devices: Devices;
  /** The JWKS of the keys that unexpired ID tokens may be signed with. */
  publicKeys(): Promise<readonly PublicKey[]>;
}
