import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { FactOf } from '../kernel/aggregate.ts';

/** A user's consent to an application: one per user and application, with any number of tokens. */
export interface Grant {
  /** Snowflake; also the time of the first consent. */
  readonly id: string;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  /** All scopes agreed to and not revoked, including implied scopes. */
  readonly scopes: readonly Scope[];
  /** The application is installed for the user: its commands are available wherever the user is. */
  readonly userInstall: boolean;
}

/** A refresh chain: at any time one access token and at most one refresh token of it are valid. */
export interface Chain {
  /** Snowflake; also the creation time of its first token. */
  readonly id: string;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  /** Including implied scopes. */
  readonly scopes: readonly Scope[];
  /** SHA-256 of the token, hexadecimal, as all hashes here. */
  readonly accessHash: string;
  readonly refreshHash: string | null;
  /** Used refresh tokens, the latest last. A second use of one shows that it was stolen. */
  readonly spentHashes: readonly string[];
  /** End of the access token, Unix milliseconds. A refresh token does not expire. */
  readonly expiresMs: number;
}

/** An authorization code. It is kept for a while after its use, so that a second use can revoke its tokens. */
export interface Code {
  /** Snowflake. */
  readonly id: string;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  readonly hash: string;
  /** As the authorization request named it; null when the request relied on the only registered one. */
  readonly redirectUri: string | null;
  /** PKCE challenge, S256; null without PKCE. */
  readonly challenge: string | null;
  /** As requested. */
  readonly scopes: readonly Scope[];
  readonly nonce: string | null;
  /** Time of the consent, Unix milliseconds: `auth_time` of an ID token. */
  readonly agreedMs: number;
  readonly expiresMs: number;
  /** The guild that the bot was added to. */
  readonly guildId: GuildId | null;
  /** An installation that waits for the exchange: for applications whose bot joins only when the code is exchanged. */
  readonly install: Install | null;
  /** The tokens it was exchanged for; null before the exchange. */
  readonly chainId: string | null;
}

/** A bot for a guild. */
export interface Install {
  readonly guildId: GuildId;
  /** Decimal, as on the wire. */
  readonly permissions: string;
}

/** A pending authorization of a device without a browser. */
export interface DeviceRequest {
  /** SHA-256 of the device code, hexadecimal. */
  readonly id: string;
  /** SHA-256 of the user code. */
  readonly userCodeHash: string;
  /** The application that is to act for the user; null to sign the device in as the user. */
  readonly applicationId: ApplicationId | null;
  /** As requested. */
  readonly scopes: readonly Scope[];
  readonly expiresMs: number;
  readonly state: 'pending' | 'granted' | 'denied';
  /** The user who answered; null while pending. */
  readonly userId: UserId | null;
}

/** Facts of users' consent to applications. */
export type OAuthFacts = {
  grantWritten: { readonly grant: Grant };
  /** Also deletes the tokens and codes of the user and application. */
  grantEnded: { readonly userId: UserId; readonly applicationId: ApplicationId };
  chainWritten: { readonly chain: Chain };
  chainEnded: { readonly userId: UserId; readonly chainId: string };
  codeWritten: { readonly code: Code };
  codeEnded: { readonly userId: UserId; readonly codeId: string };
  /** Also deletes expired requests. */
  deviceRequestWritten: { readonly request: DeviceRequest; readonly nowMs: number };
  deviceRequestEnded: { readonly id: string };
};
export type OAuthFact = FactOf<OAuthFacts>;
