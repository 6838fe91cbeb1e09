import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';

/** The caller of a command, as the transport has authenticated it. */
export interface By {
  readonly userId: UserId;
  readonly bot: boolean;
  /** The application of a bot (or of an OAuth2 token). */
  readonly applicationId: ApplicationId | null;
  /** Application flags (privileged intents); 0 for a user. */
  readonly applicationFlags: number;
  /** `X-Audit-Log-Reason`, decoded. */
  readonly reason: string | null;
  /** The server itself (its operator, an internal step): not a member, and not asked for permissions. */
  readonly system?: true;
}

/**
 * A caller and what the declaration of the operation demands of them. It travels with the command; the actor that
 * owns the data checks it, against the guild, or against the channel when one is named.
 */
export interface Authority {
  readonly by: By;
  /** Bits that must all be held. */
  readonly requires: bigint;
  /** Set by the channel service: the channel must exist, be visible to the caller, and grant `requires`. */
  readonly channelId?: ChannelId;
}

/** The server itself: not a member anywhere, and not asked for permissions. */
export const SYSTEM: Authority = {
  by: {
    userId: '0' as UserId,
    bot: false,
    applicationId: null,
    applicationFlags: 0,
    reason: null,
    system: true,
  },
  requires: 0n,
};
