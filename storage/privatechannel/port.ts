import type { PrivateCall } from '../../engine/privatechannel/calls.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';

export interface PrivateChannelStore {
  get(id: ChannelId): Promise<PrivateChannel | null>;
  /** The running call; null without one. */
  call(id: ChannelId): Promise<PrivateCall | null>;
  /** The channels among `ids` in whose call the user is, with the session. */
  inCall(
    userId: UserId,
    ids: readonly ChannelId[],
  ): Promise<readonly { readonly id: ChannelId; readonly sessionId: string }[]>;
  /** All channels with a running call. */
  withCalls(): Promise<ChannelId[]>;
  /** The channel of two users, in either order. */
  between(a: UserId, b: UserId): Promise<PrivateChannel | null>;
  /** Channels of two users and groups of a user, those with the newest messages first. */
  of(userId: UserId, limit: number): Promise<PrivateChannel[]>;
  /** Number of non-empty groups that an application manages. */
  managedBy(applicationId: ApplicationId): Promise<number>;
}
