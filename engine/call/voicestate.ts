import type { ChannelId, UserId } from '../../protocol/ids.ts';

/** A session's request to be in a call. */
export interface VoiceWish {
  readonly sessionId: string;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** The voice state of a user in a call outside guilds, which have no moderation. */
export const ownVoiceState = (channelId: ChannelId, userId: UserId, wish: VoiceWish) => ({
  channel_id: channelId,
  user_id: userId,
  session_id: wish.sessionId,
  deaf: false as const,
  mute: false as const,
  self_deaf: wish.selfDeaf,
  self_mute: wish.selfMute,
  self_video: wish.selfVideo,
  suppress: false as const,
  request_to_speak_timestamp: null,
});

const OWN = ['session_id', 'self_deaf', 'self_mute', 'self_video'] as const;

/** Whether two states of the same user are equal, so that no update is needed. */
export const sameVoiceState = (
  a: Record<(typeof OWN)[number], unknown>,
  b: Record<(typeof OWN)[number], unknown>,
): boolean => OWN.every((key) => a[key] === b[key]);
