import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';

export interface PrivateChannelStore {
  get(id: ChannelId): Promise<PrivateChannel | null>;
  /** The channel of two users, in either order. */
  between(a: UserId, b: UserId): Promise<PrivateChannel | null>;
  of(userId: UserId, limit: number): Promise<PrivateChannel[]>;
}
