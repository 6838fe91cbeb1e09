import type { Reply } from '../../engine/kernel/aggregate.ts';
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

/** A service that stores data of accounts: how that data is merged, copied at an unmerge, and deleted with a game. */
export interface Mergeable {
  /**
   * Moves all data of `from` to `to`, for all applications. Durable when it resolves. Idempotent.
   */
  merge(from: UserId, to: UserId): Promise<void>;
  /** Copies what the platform copies to the new provisional account, of one application. */
  unmerge(from: UserId, to: UserId, applicationId: ApplicationId): Promise<void>;
  /** Deletes all data of an application that becomes a child of another one. */
  forgetGame(applicationId: ApplicationId): Promise<void>;
}

/** Credentials of an application; public clients have no secret. */
export interface ClientProof {
  readonly applicationId: ApplicationId;
  readonly clientSecret: string | null;
}

/** Result of a sign-in: tokens, or the linked identity, whose full account must sign in by OAuth2 instead (530010). */
export type SignedIn =
  | { readonly kind: 'tokens'; readonly tokens: IssuedTokens }
  | { readonly kind: 'linked'; readonly identity: Identity };

export interface IdentityProfile extends Profile {
  readonly identity: Identity;
}

/** Provisional accounts and external identities of players, behind the `/partner-sdk/` operations. */
export interface Provisional {
  isProvisional(userId: UserId): Promise<boolean>;

  /** Signs a player in by the proof of an identity provider; creates a provisional account the first time. */
  signIn(client: ClientProof, proof: ExternalProof): Promise<Reply<SignedIn>>;
  /** Signs a player in on behalf of the application's bot. `name` is the display name of a new account. */
  signInByBot(
    applicationId: ApplicationId,
    externalUserId: string,
    name: string | null,
  ): Promise<Reply<SignedIn>>;
  /** Issues a token for the parent's user to a child application. It expires with the parent's token. */
  exchangeChild(
    parentAccessToken: string,
    childId: ApplicationId,
    parentSecret: string | null,
  ): Promise<Reply<IssuedTokens>>;

  /**
   * Merges a provisional account, for requests to the token endpoint with `external_auth_type` and `external_auth_token`.
   * Called after the code is validated and before it is redeemed. A refusal (50025, 530014, 530016, 530017, 530020 …, 423)
   * is the response of the token endpoint, and the code can be used again. On success the merge is durable and continues
   * in the background; the user gets USER_MERGE_OPERATION_COMPLETED when it is complete.
   */
  merge(order: MergeOrder): Promise<Reply<null>>;
  /** Unlinks an identity from its full account: revokes its tokens and gives the player a new provisional account. */
  unmerge(client: ClientProof, proof: ExternalProof): Promise<Reply<null>>;
  unmergeByBot(applicationId: ApplicationId, externalUserId: string): Promise<Reply<null>>;

  /**
   * Called after a grant was revoked, by revocation, settings or deletion. Identities linked through the grant get
   * provisional accounts again, and grants of child applications are revoked. Must not make the revocation fail.
   */
  deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void>;

  /** Bans a user from the server: unlinks all identities, which get restricted provisional accounts. */
  banned(userId: UserId, untilMs: number | null): Promise<void>;
  /** Lifts a ban before it expires. */
  unbanned(userId: UserId): Promise<void>;
  /** Whether the user is banned from the server; sign-in refuses banned users. */
  isBanned(userId: UserId): Promise<boolean>;

  /** Identities of the users in this application or its publisher's, of all providers; users without one are absent. */
  identities(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<readonly Identity[]>;
  identity(applicationId: ApplicationId, external: ExternalIdentity): Promise<Identity | null>;
  /** Removes a linked identity and dispatches the removal to its user. Refused with 50229 for a provisional account. */
  forgetIdentity(
    applicationId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
  ): Promise<Reply<null>>;
  /** Profiles that the game set for its players, for READY and friends lists. */
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

  /** The parent of a child application; null for an application without one. */
  parentOf(applicationId: ApplicationId): Promise<ApplicationId | null>;
  /** Whether both are the same application or belong to one publisher. */
  related(a: ApplicationId, b: ApplicationId): Promise<boolean>;
  /** Makes an application the child of another one and deletes its own players and grants. */
  linkChild(childId: ApplicationId, parentId: ApplicationId): Promise<Reply<null>>;

  /** Configures an identity provider of an application, after validating its issuer. */
  configure(applicationId: ApplicationId, settings: ProviderSettings): Promise<Reply<null>>;
  unconfigure(applicationId: ApplicationId, type: ProviderSettings['type']): Promise<void>;

  /** Stops retries; the server is closing. */
}

/** Verifies proofs of one identity provider. */
export interface ExternalVerifier {
  /** Refuses invalid proofs, and applications that have not configured this provider. */
  verify(applicationId: ApplicationId, token: string): Promise<Reply<VerifiedPlayer>>;
}

export interface VerifiedPlayer extends ExternalIdentity {
  /** Display name for a new account; null when the provider reports none. */
  readonly name: string | null;
}

export interface OutgoingRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Guarded outgoing HTTPS: public addresses only, no redirects, bounded in time and size. */
export interface OutgoingHttp {
  /** The JSON body of a response with status 200. @throws Error for any other outcome. */
  json(request: OutgoingRequest): Promise<unknown>;
  /** Whether the operator has allowed the private origin of a URL. */
  allowsPrivate(url: string): boolean;
}
