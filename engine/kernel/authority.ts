import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';

/** Whether an account has a second factor; `unknown` until it is looked up. */
export type SecondFactor = 'unknown' | 'none' | 'set';

/** The authenticated caller of a command. */
export interface By {
  readonly userId: UserId;
  readonly bot: boolean;
  /** The application of a bot (or of an OAuth2 token). */
  readonly applicationId: ApplicationId | null;
  /** Application flags (privileged intents); 0 for a user. */
  readonly applicationFlags: number;
  /** `X-Audit-Log-Reason`, decoded. */
  readonly reason: string | null;
  /**
   * Whether the user, or the owner of the bot, has a second factor; `unknown` until a guild asks. Absent for commands that
   * use no permission of moderation.
   */
  readonly secondFactor?: SecondFactor;
  /** The server itself (its operator, an internal step): not a member, and exempt from permission checks. */
  readonly system?: true;
}

/**
 * A caller and the permissions that the operation's declaration requires. It is sent with the command; the actor that
 * owns the data checks it against the guild, or against the channel when one is named.
 */
export interface Authority {
  readonly by: By;
  /** Bits that the caller must hold, all of them. */
  readonly requires: bigint;
  /** Set by the channel service: the channel must exist, be visible to the caller, and grant `requires`. */
  readonly channelId?: ChannelId;
}

/** The authority of a session or a caller for commands that require no permission and are given without a reason. */
export const authorityOf = ({
  userId,
  bot,
  applicationId,
  applicationFlags,
}: Pick<By, 'userId' | 'bot' | 'applicationId' | 'applicationFlags'>): Authority => ({
  by: { userId, bot, applicationId, applicationFlags, reason: null },
  requires: 0n,
});

/** The authority of a user. `applicationId`: the application that acts for the user, if any. */
export const userAuthority = (userId: UserId, applicationId: ApplicationId | null = null): Authority =>
  authorityOf({ userId, bot: false, applicationId, applicationFlags: 0 });

/** The server itself: not a member anywhere, and exempt from permission checks. */
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
