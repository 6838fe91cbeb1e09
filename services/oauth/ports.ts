import type { AtHand } from '../../actors/runtime/recent.ts';
import type { Principal } from '../../actors/session/ports.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { Grant } from '../../engine/oauth/facts.ts';
import type { AuthorizeQuery, AuthorizeRequest } from '../../engine/oauth/request.ts';
import type { ExternalProof } from '../../engine/provisional/identity.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Scope, Scopes } from '../../protocol/scopes.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { Secret } from '../identity/secret.ts';

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

/** What a client asks the token endpoint; absent fields null. Lengths are bounded, nothing else is. */
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
  /** Merges the provisional account that it proves into the one that agreed. */
  readonly external: ExternalProof | null;
}

export interface TokenAnswer extends IssuedTokens {
  /** The guild that the bot was added to, as the wire shows it. */
  readonly guild: object | null;
}

/** A guild of a person, as far as a consent page needs it. */
export interface UserGuild {
  readonly id: GuildId;
  readonly name: string;
  readonly icon: string | null;
  /** Of the person, decimal. */
  readonly permissions: string;
}

/** What a person is asked to agree to. */
export interface Consent {
  readonly request: AuthorizeRequest;
  /** The person has agreed to all of it before, and nothing of it places anything: with `prompt` `none` nobody asks. */
  readonly agreed: boolean;
  /** Where the person may add the bot; null when there is none to add. With a fixed guild only that one. */
  readonly guilds: readonly UserGuild[] | null;
}

export type ConsentOutcome =
  | { readonly kind: 'consent'; readonly consent: Consent }
  /** To be shown. Never a redirect: it is not known whose the link is. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Back to the application, which is told what was wrong. */
  | { readonly kind: 'redirect'; readonly location: string };

/** What a person decides. */
export interface Decision {
  readonly authorize: boolean;
  /** Decimal; of those asked for. Null: as asked. */
  readonly permissions: string | null;
  readonly guildId: GuildId | null;
  readonly integrationType: 0 | 1 | null;
}

export type DecisionOutcome =
  /** `location` is null when nobody asked for an answer: the person is told here that it is done. */
  | { readonly kind: 'decided'; readonly location: string | null; readonly guildId: GuildId | null }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Authorization requests: what the consent page and the consent operations ask of. Only for people themselves. */
export interface Consents {
  describe(userId: UserId, query: AuthorizeQuery): Promise<ConsentOutcome>;
  /** The request is read anew: what was described proves nothing. */
  decide(userId: UserId, query: AuthorizeQuery, decision: Decision): Promise<DecisionOutcome>;
}

/** What a device shows, and polls with. */
export interface DeviceCodes {
  readonly deviceCode: Secret;
  /** Eight letters that are hard to confuse. */
  readonly userCode: string;
  readonly expiresInSec: number;
  readonly intervalSec: number;
}

/** A device that waits for a person. */
export interface WaitingDevice {
  readonly application: Application;
  /** As asked for. */
  readonly scopes: readonly Scope[];
  readonly state: 'pending' | 'granted' | 'denied';
}

/** Devices without a browser. @source RFC 8628 */
export interface Devices {
  begin(clientId: string, clientSecret: string | null, scope: string): Promise<Reply<DeviceCodes>>;
  /** By the code that a person typed, in any case, with or without a hyphen. Null: unknown, or over. */
  look(userCode: string): Promise<WaitingDevice | null>;
  /** False when there is nothing to answer any more. */
  finish(userId: UserId, userCode: string, granted: boolean): Promise<boolean>;
}

/** Grants and their tokens, as the rest of the house uses them. The token endpoint and the consent page are its own. */
export interface OAuth {
  /** Users whose grants and tokens are in memory. */
  readonly cached: AtHand;
  /** Drops what is at hand: what others have changed may not have been heard of here. */
  forgetAll(): void;
  /** Null for a token that is unknown, malformed, expired or revoked. */
  authenticate(accessToken: string): Promise<Principal | null>;
  /** Makes the grant if there is none, and tokens for it. */
  issue(order: TokenOrder): Promise<IssuedTokens>;
  /** What the user lets the application do; null when nothing. */
  granted(userId: UserId, applicationId: ApplicationId): Promise<Scopes | null>;
  /**
   * Takes everything back: tokens no longer count from this moment, their sessions get OAUTH2_TOKEN_REVOKE and close
   * with 4004, and APPLICATION_DEAUTHORIZED is queued unless `silent`: the account lives on as another one. False when
   * nothing was granted.
   */
  deauthorize(
    userId: UserId,
    applicationId: ApplicationId,
    how?: { readonly silent: boolean },
  ): Promise<boolean>;
  /** Some of those who let the application act, for whoever takes them back one by one. */
  grantors(applicationId: ApplicationId, limit: number): Promise<readonly UserId[]>;

  /** What the user lets applications do, oldest first. */
  grants(userId: UserId): Promise<readonly Grant[]>;
  /**
   * Who shows these credentials; null for an unknown application, a wrong secret, or none where the application is
   * not a public one. An empty secret is none. In constant time.
   */
  client(applicationId: string, secret: string | null): Promise<Client | null>;
  /** The token endpoint. Refusals are told in the RFC's words, but for those of a merge. */
  token(request: TokenRequest): Promise<Reply<TokenAnswer>>;
  /**
   * The revocation endpoint: takes back all that the token's user let the application do. A token that is unknown or
   * another application's is passed over in silence, as RFC 7009 has it.
   */
  revoke(client: Client, token: string): Promise<void>;
  readonly consents: Consents;
  readonly devices: Devices;
  /** Those that ID tokens may be signed with: a JWKS. */
  publicKeys(): Promise<readonly PublicKey[]>;
}
