import type { Reply } from '../../engine/kernel/outcome.ts';
import type {
  ExternalIdentity,
  ExternalProof,
  Identity,
  MergeOrder,
} from '../../engine/provisional/identity.ts';
import type { Profile, ProfileChange } from '../../engine/provisional/profile.ts';
import type { ProviderSettings } from '../../engine/provisional/providers.ts';

import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { IssuedTokens } from '../oauth/ports.ts';

/** What moves from one account to another when they become one, or part again, and what hangs on a game: each part of the house has its own. */
export interface Mergeable {
  /**
   * Everything of `from` that is `to`'s from now on, for all applications. Durable when it resolves; doing it twice
   * does nothing more.
   */
  merge(from: UserId, to: UserId): Promise<void>;
  /** Copies what the platform copies to the new provisional account, of one application. */
  unmerge(from: UserId, to: UserId, applicationId: ApplicationId): Promise<void>;
  /** Deletes what there is of an application: it comes under a parent. */
  forgetGame(applicationId: ApplicationId): Promise<void>;
}

/** How a client proves to be its application: not at all when it is a public one. */
export interface ClientProof {
  readonly applicationId: ApplicationId;
  readonly clientSecret: string | null;
}

/** How a sign-in ends: with tokens, or with whom the identity is linked to, who signs in by OAuth2 instead (530010). */
export type SignedIn =
  | { readonly kind: 'tokens'; readonly tokens: IssuedTokens }
  | { readonly kind: 'linked'; readonly identity: Identity };

export interface IdentityProfile extends Profile {
  readonly identity: Identity;
}

/** Provisional accounts and who a player is elsewhere. Its own operations are the `/partner-sdk/` ones. */
export interface Provisional {
  isProvisional(userId: UserId): Promise<boolean>;

  /** Signs a player in by what another provider says; the first time with a new provisional account. */
  signIn(client: ClientProof, proof: ExternalProof): Promise<Reply<SignedIn>>;
  /** The same on the word of the application's bot. `name` is for a new account's display name. */
  signInByBot(
    applicationId: ApplicationId,
    externalUserId: string,
    name: string | null,
  ): Promise<Reply<SignedIn>>;
  /** Gives a child application a token of the parent's user. It ends with the parent's. */
  exchangeChild(
    parentAccessToken: string,
    childId: ApplicationId,
    parentSecret: string | null,
  ): Promise<Reply<IssuedTokens>>;

  /**
   * For the token endpoint, when a grant of an authorization or device code carries `external_auth_type` and
   * `external_auth_token`: to be called once the code is known to be good and before it is used up or tokens are
   * issued. A refusal (50025, 530014, 530016, 530017, 530020 …, 423) is the answer to the token request, and the code
   * may be tried again. Accepted, the merge is durable and goes on by itself; the user hears
   * USER_MERGE_OPERATION_COMPLETED when it is through.
   */
  merge(order: MergeOrder): Promise<Reply<null>>;
  /** Parts an identity from the full account it is linked to: tokens end, the player gets a new provisional account. */
  unmerge(client: ClientProof, proof: ExternalProof): Promise<Reply<null>>;
  unmergeByBot(applicationId: ApplicationId, externalUserId: string): Promise<Reply<null>>;

  /**
   * To be called after a grant was taken back, by whatever way (revocation, settings, deletion): identities that were
   * linked through it get provisional accounts again, and grants of child applications end. Does nothing when there
   * are none; never a reason to fail the revocation.
   */
  deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void>;

  /** The user was banned from the server: links end, and their identities get restricted provisional accounts. */
  banned(userId: UserId, untilMs: number | null): Promise<void>;
  /** The ban is over before its time. */
  unbanned(userId: UserId): Promise<void>;
  /** True while the user is banned from the server: sign-in must refuse them. */
  isBanned(userId: UserId): Promise<boolean>;

  /** Who the users are in this application (or its publisher's), by any provider; those without identity are absent. */
  identities(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<readonly Identity[]>;
  identity(applicationId: ApplicationId, external: ExternalIdentity): Promise<Identity | null>;
  /** Forgets a linked identity; the sessions of its user hear of it. Refused with 50229 for a provisional account. */
  forgetIdentity(
    applicationId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
  ): Promise<Reply<null>>;
  /** What the game tells of its players; for READY and friends lists. */
  profiles(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<readonly IdentityProfile[]>;
  profile(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
  ): Promise<Reply<IdentityProfile>>;
  /** `created` is true the first time. */
  updateProfile(
    applicationId: ApplicationId,
    userId: UserId,
    externalUserId: string,
    change: ProfileChange,
  ): Promise<Reply<{ readonly created: boolean }>>;

  /** The parent of a child application; null for one of its own. */
  parentOf(applicationId: ApplicationId): Promise<ApplicationId | null>;
  /** Same application, or of one publisher. */
  related(a: ApplicationId, b: ApplicationId): Promise<boolean>;
  /** Puts an application under a parent; what it had of its own is deleted. */
  linkChild(childId: ApplicationId, parentId: ApplicationId): Promise<Reply<null>>;

  /** Says how an application's players prove who they are; checked against the rules for issuers. Null: no longer. */
  configure(applicationId: ApplicationId, settings: ProviderSettings): Promise<Reply<null>>;
  unconfigure(applicationId: ApplicationId, type: ProviderSettings['type']): Promise<void>;

  /** Nothing is begun from here on: the server stops. */
  close(): void;
}

/** Checks what a game shows for a player, with one provider. */
export interface ExternalVerifier {
  /** A refusal says why the proof does not count, or that the application has not set this provider up. */
  verify(applicationId: ApplicationId, token: string): Promise<Reply<VerifiedPlayer>>;
}

export interface VerifiedPlayer extends ExternalIdentity {
  /** For the display name of a new account; null when the provider names none. */
  readonly name: string | null;
}

export interface OutgoingRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** HTTPS to the outside, guarded: public addresses only, no redirects, bounded in time and size. */
export interface Outgoing {
  /** The JSON of an answer with status 200. @throws Error for any other end. */
  json(request: OutgoingRequest): Promise<unknown>;
  /** True for a URL whose origin the operator has allowed although it is private. */
  allowsPrivate(url: string): boolean;
}
