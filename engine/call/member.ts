import type { UserId } from '../../protocol/ids.ts';
import { type Speech, speakingFlags } from './speaking.ts';
import { type Codec, type Layer, primarySsrc, type SinkWants, type WantedLayers } from './video.ts';
import type { VoiceMember } from './voicemember.ts';

/** Op 12 as a member sent it, without SSRCs that are not the member's own. */
export interface Video {
  readonly audioSsrc: number;
  /** 0 without video. */
  readonly videoSsrc: number;
  /** The wire's objects, with the allotted SSRCs. */
  readonly streams: readonly MemberStream[];
}

interface MemberStream {
  readonly rid: string;
  readonly quality: number;
  readonly active: boolean;
  readonly ssrc: number;
  readonly rtx_ssrc: number;
}

export const NO_VIDEO: Video = { audioSsrc: 0, videoSsrc: 0, streams: [] };

/** One connected member of a call. Replaced in parts, never mutated. */
export interface CallMember {
  readonly voiceMember: VoiceMember;
  /** Users who may hear the member; null for everyone. */
  readonly audience: ReadonlySet<UserId> | null;
  readonly ssrc: number;
  readonly layers: readonly Layer[];
  readonly mediaSessionId: string;
  /** As the last Session Description has it; null before the first. */
  readonly transport: 'udp' | 'webrtc' | null;
  /** Number of Select Protocol frames so far. */
  readonly selections: number;
  /** Number of Select Protocol frames since media last arrived. */
  readonly attempts: number;
  readonly speech: Speech;
  /** The last op 5 to the other members; null before they know the SSRC. */
  readonly announced: Announcement | null;
  readonly video: Video;
  /** As op 1 or op 14 named them; empty when neither did. */
  readonly codecs: readonly Codec[];
  /** The video codec that the member was last asked to send; null before its Session Description. */
  readonly codec: string | null;
  readonly wants: SinkWants;
  /** The last op 15 to the member; null before the first. */
  readonly requested: WantedLayers | null;
}

interface Announcement {
  readonly flags: number;
  /** Monotonic milliseconds before which no other flags are announced. */
  readonly nextMs: number;
}

/** The flags that the others are to receive. */
export const flagsOf = ({ speech, voiceMember }: CallMember): number => speakingFlags(speech, voiceMember);

/** Op 5 as sent to the others. */
export const speakingPayload = (member: CallMember) => ({
  speaking: flagsOf(member),
  ssrc: member.ssrc,
  user_id: member.voiceMember.userId,
});

/** The video shown to the others; no video while the member may not stream. */
export const shownVideo = ({ voiceMember, video }: CallMember): Video =>
  voiceMember.mayStream ? video : NO_VIDEO;

export const showsVideo = (member: CallMember): boolean => shownVideo(member).videoSsrc !== 0;

/** Op 12 as sent to the others. */
export const videoPayload = (member: CallMember) => {
  const { videoSsrc, streams } = shownVideo(member);
  return {
    user_id: member.voiceMember.userId,
    audio_ssrc: member.ssrc,
    video_ssrc: videoSsrc,
    streams,
  };
};

/**
 * A client's op 12 with the SSRCs that were allotted to it. Browsers send with SSRCs of their own, so a stream is
 * matched by its rid first. Streams that match no layer are left out, so a client cannot send under another member's
 * SSRC.
 */
export function ownVideo<S extends { readonly rid: string; readonly ssrc: number; readonly active: boolean }>(
  member: Pick<CallMember, 'ssrc' | 'layers'>,
  update: { readonly videoSsrc: number; readonly streams: readonly S[] },
): Video {
  const { layers } = member;
  if (update.videoSsrc === 0 || layers.length === 0) return NO_VIDEO;
  const streams = layers.flatMap((layer) => {
    const stream =
      update.streams.find(({ rid }) => rid === layer.rid) ??
      update.streams.find(({ ssrc }) => ssrc === layer.ssrc);
    return stream ? [{ ...stream, ssrc: layer.ssrc, rtx_ssrc: layer.rtxSsrc, quality: layer.quality }] : [];
  });
  return { audioSsrc: member.ssrc, videoSsrc: primarySsrc(layers), streams };
}
