import type { ExternalAuthType, ProviderType } from '../../protocol/identities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** A player's identity at another provider. */
export interface ExternalIdentity {
  readonly providerType: ProviderType;
  /** Distinguishes issuers of one type: the OIDC issuer; null where the type alone is enough. */
  readonly providerId: string | null;
  /** The provider's id for the player: 1 to 1024 characters. */
  readonly providerIssuedUserId: string;
}

/** An identity and its account, in one application (or in all applications of one publisher). */
export interface Identity extends ExternalIdentity {
  /** The application, or its publisher's parent application. */
  readonly applicationId: ApplicationId;
  /** A provisional account, or the full account it is linked to. */
  readonly userId: UserId;
  /** The banned account it was linked to: while the ban lasts, the identity may not be linked. */
  readonly formerUserId: UserId | null;
}

/** The proof of an identity that a game sends for a player. */
export interface ExternalProof {
  readonly externalAuthType: ExternalAuthType;
  /** 1 to 10240 characters, untrusted. */
  readonly externalAuthToken: string;
}

/** A merge of two accounts: the provisional account of the proof is merged into the full one. */
export interface MergeOrder extends ExternalProof {
  readonly applicationId: ApplicationId;
  /** The full account that authorized the application. */
  readonly userId: UserId;
}
