import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { keysOf } from '../../protocol/present.ts';

/**
 * A user's place in voice, as the owner of the channel (a guild, a private channel, a lobby) states it. One per user
 * and server; replaced as a whole on any change.
 */
export interface VoiceMember {
  /** Names the call: the channel or lobby, or for a stream its `serverId`. */
  readonly callId: ChannelId;
  /** `channel_id` of Identify, and the DAVE group. Equals `callId`, except for a stream. */
  readonly groupId: ChannelId;
  /** `server_id` of Identify: the guild; outside guilds, and for streams, equal to `callId`. */
  readonly serverId: string;
  readonly guildId: GuildId | null;
  readonly userId: UserId;
  /** Gateway session that joined. */
  readonly sessionId: string;
  /** Any of: server mute, self mute, suppress, no SPEAK. */
  readonly silenced: boolean;
  /** Server or self deaf. */
  readonly deafened: boolean;
  readonly mayStream: boolean;
  readonly mayPrioritize: boolean;
  /** Move to the guild's AFK channel after this long without speaking; null for never. */
  readonly afkAfterMs: number | null;
}

/** Whether two voice members are equal, so that no update is needed. */
export function sameVoiceMember(a: VoiceMember, b: VoiceMember): boolean {
  return keysOf(a).every((key) => a[key] === b[key]);
}
