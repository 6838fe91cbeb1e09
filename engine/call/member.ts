import { type Speech, speakingFlags } from './speaking.ts';
import { type Codec, type Layer, primarySsrc, type SinkWants } from './video.ts';
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

/** One member of a call as the pure rules of the call see it. Replaced in parts, never mutated. */
export interface CallMember {
  readonly voiceMember: VoiceMember;
  readonly ssrc: number;
  readonly layers: readonly Layer[];
  readonly speech: Speech;
  readonly video: Video;
  /** As op 1 or op 14 named them; empty when neither did. */
  readonly codecs: readonly Codec[];
  readonly wants: SinkWants;
  readonly audience: ReadonlySet<string> | null;
}

/** Op 5 as sent to the others. */
export const speakingPayload = (member: CallMember) => ({
  speaking: speakingFlags(member.speech, member.voiceMember),
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
