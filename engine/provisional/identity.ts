import type { ExternalAuthType, ProviderType } from '../../protocol/identities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** Who a player is elsewhere. */
export interface ExternalIdentity {
  readonly providerType: ProviderType;
  /** Tells issuers of one type apart: the OIDC issuer; null where the type says it all. */
  readonly providerId: string | null;
  /** The provider's own name for the player: 1 to 1024 characters. */
  readonly providerIssuedUserId: string;
}

/** An identity and the account that stands for it, in one application (or in all of one publisher's). */
export interface Identity extends ExternalIdentity {
  /** The application, or the parent of its publisher. */
  readonly applicationId: ApplicationId;
  /** A provisional account, or the full account it is linked to. */
  readonly userId: UserId;
  /** The banned account it was linked to: while that ban lasts, the identity may not be linked. */
  readonly formerUserId: UserId | null;
}

/** The proof of an identity that a game presents for a player. */
export interface ExternalProof {
  readonly externalAuthType: ExternalAuthType;
  /** 1 to 10240 characters, untrusted. */
  readonly externalAuthToken: string;
}

/** Two accounts to become one: the provisional account that the proof names goes into the full one. */
export interface MergeOrder extends ExternalProof {
  readonly applicationId: ApplicationId;
  /** The full account that authorized the application. */
  readonly userId: UserId;
}
