import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { FactOf } from '../kernel/aggregate.ts';
import type { ExternalIdentity, Identity } from './identity.ts';
import type { Profile } from './profile.ts';
import type { ConfigurableProvider, ProviderSettings } from './providers.ts';

/**
 * Work in several steps by several services, written down before it begins, so that it is finished after a crash:
 * merging or unmerging two accounts, linking an application to a parent, or banning a user. Each step may be repeated.
 */
export type Move =
  | {
      readonly kind: 'merge' | 'unmerge';
      /** Snowflake; also `merge_operation_id`. */
      readonly id: string;
      readonly applicationId: ApplicationId;
      readonly fromId: UserId;
      readonly toId: UserId;
    }
  | { readonly kind: 'adoption'; readonly id: string; readonly childId: ApplicationId }
  | { readonly kind: 'ban'; readonly id: string; readonly userId: UserId };

/** Facts of identities of players at other providers. */
export type IdentityFacts = {
  /** Replaces an existing identity. */
  identityWritten: { readonly identity: Identity };
  identityRemoved: { readonly applicationId: ApplicationId; readonly external: ExternalIdentity };
  profileWritten: {
    readonly applicationId: ApplicationId;
    readonly external: ExternalIdentity;
    readonly profile: Profile;
  };
  /** The account is deleted; its identities belong to other accounts by then. */
  provisionalDeleted: { readonly userId: UserId };
  moveBegun: { readonly move: Move };
  moveEnded: { readonly moveId: string };
  /** A null `untilMs` bans permanently. */
  serverBanned: { readonly userId: UserId; readonly untilMs: number | null };
  serverUnbanned: { readonly userId: UserId };
  childLinked: { readonly childId: ApplicationId; readonly parentId: ApplicationId };
  providerConfigured: { readonly applicationId: ApplicationId; readonly settings: ProviderSettings };
  providerUnconfigured: { readonly applicationId: ApplicationId; readonly provider: ConfigurableProvider };
};
export type IdentityFact = FactOf<IdentityFacts>;
