import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { keysOf } from '../../protocol/present.ts';

/**
 * Where a user is in voice, as the owner of the channel (a guild, a private channel, a lobby) says. One per user and
 * server; replaced as a whole whenever something in it changes.
 */
export interface VoiceMember {
  /** The channel or lobby; of a stream, what `serverId` is: names the call. */
  readonly callId: ChannelId;
  /** What Identify calls `channel_id`, and the DAVE group: the same as `callId`, but for a stream's. */
  readonly groupId: ChannelId;
  /** What Identify calls `server_id`: the guild; outside guilds, and of streams, the same as `callId`. */
  readonly serverId: string;
  readonly guildId: GuildId | null;
  readonly userId: UserId;
  /** Gateway session that brought the user there. */
  readonly sessionId: string;
  /** Any of: server mute, self mute, suppress, no SPEAK. */
  readonly silenced: boolean;
  /** Server or self deaf. */
  readonly deafened: boolean;
  readonly mayStream: boolean;
  readonly mayPrioritize: boolean;
  /** Move to the guild's AFK channel after this long without speaking; null: never. */
  readonly afkAfterMs: number | null;
}

/** Whether two seats say the same; then nobody needs to be told. */
export function sameVoiceMember(a: VoiceMember, b: VoiceMember): boolean {
  return keysOf(a).every((key) => a[key] === b[key]);
}
