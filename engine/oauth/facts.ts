import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { FactOf } from '../kernel/topic.ts';

/** That a person lets an application act: one per user and application, however many tokens hang on it. */
export interface Grant {
  /** Snowflake; also when it was first given. */
  readonly id: string;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  /** All that was agreed to and not taken back, with what it implies. */
  readonly scopes: readonly Scope[];
  /** The application is installed for the user: its commands are there wherever the user is. */
  readonly userInstall: boolean;
}

/** Tokens that follow each other by refresh: at any time one access token and at most one refresh token of them count. */
export interface Chain {
  /** Snowflake; also when its first token was made. */
  readonly id: string;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  /** With what they imply. */
  readonly scopes: readonly Scope[];
  /** SHA-256 of the token, hexadecimal, as all hashes here. */
  readonly accessHash: string;
  readonly refreshHash: string | null;
  /** Of refresh tokens that were used, the latest last. One that comes again has been stolen. */
  readonly spentHashes: readonly string[];
  /** When the access token ends, Unix milliseconds. A refresh token has no end of its own. */
  readonly expiresMs: number;
}

/** An authorization code. It is kept for a while after its use, to know what it gave when it comes again. */
export interface Code {
  /** Snowflake. */
  readonly id: string;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  readonly hash: string;
  /** As the authorization request named it; null when it named none, and the only registered one was taken. */
  readonly redirectUri: string | null;
  /** Of PKCE, by S256; null without. */
  readonly challenge: string | null;
  /** As asked for. */
  readonly scopes: readonly Scope[];
  readonly nonce: string | null;
  /** When the person agreed, Unix milliseconds: `auth_time` of an ID token. */
  readonly agreedMs: number;
  readonly expiresMs: number;
  /** The guild that the bot was added to. */
  readonly guildId: GuildId | null;
  /** What is still to be installed: for applications whose bot joins only when the code is exchanged. */
  readonly install: Install | null;
  /** The tokens it was exchanged for; null until then. */
  readonly chainId: string | null;
}

/** A bot for a guild. */
export interface Install {
  readonly guildId: GuildId;
  /** Decimal, as on the wire. */
  readonly permissions: string;
}

/** What a device without a browser waits for. */
export interface DeviceRequest {
  /** SHA-256 of the device code, hexadecimal. */
  readonly id: string;
  /** SHA-256 of the user code. */
  readonly userCodeHash: string;
  readonly applicationId: ApplicationId;
  /** As asked for. */
  readonly scopes: readonly Scope[];
  readonly expiresMs: number;
  readonly state: 'pending' | 'granted' | 'denied';
  /** Who answered; null while pending. */
  readonly userId: UserId | null;
}

/** Facts of what people have let applications do. */
export type OAuthFacts = {
  grantWritten: { readonly grant: Grant };
  /** Takes the tokens and codes of the pair along. */
  grantEnded: { readonly userId: UserId; readonly applicationId: ApplicationId };
  chainWritten: { readonly chain: Chain };
  chainEnded: { readonly userId: UserId; readonly chainId: string };
  codeWritten: { readonly code: Code };
  codeEnded: { readonly userId: UserId; readonly codeId: string };
  /** Takes those along that nobody can use any more. */
  deviceRequestWritten: { readonly request: DeviceRequest; readonly nowMs: number };
  deviceRequestEnded: { readonly id: string };
};
export type OAuthFact = FactOf<OAuthFacts>;
