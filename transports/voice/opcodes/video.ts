import { type Static, Type } from 'typebox';
import type { WireStream } from '../../../engine/call/requests.ts';
import { Nullish, Quality, Ssrc, STREAMS_MAX, sessionOpcode, Word } from './opcode.ts';

const Amount = Type.Number({ minimum: 0, maximum: 0xffff_ffff });

const Stream = Type.Object({
  type: Word,
  rid: Nullish(Word),
  quality: Nullish(Quality),
  active: Nullish(Type.Boolean()),
  ssrc: Nullish(Ssrc),
  rtx_ssrc: Nullish(Ssrc),
  max_bitrate: Nullish(Amount),
  max_framerate: Nullish(Amount),
  max_resolution: Nullish(Type.Object({ type: Word, width: Amount, height: Amount })),
});

const Video = Type.Object({
  audio_ssrc: Nullish(Ssrc),
  video_ssrc: Nullish(Ssrc),
  rtx_ssrc: Nullish(Ssrc),
  streams: Nullish(Type.Array(Stream, { maxItems: STREAMS_MAX })),
});

const FULL_QUALITY = 100;
/**
 * @source https://docs.discord.food/topics/voice-connections#stream-structure; the next SSRC unless the client names
 * another
 */
const rtxOf = (ssrc: number): number => (ssrc === 0 ? 0 : (ssrc + 1) >>> 0);

/** Copies only known fields, because the stream is shown to the other members. */
function streamOf(stream: Static<typeof Stream>): WireStream {
  const { type, max_bitrate, max_framerate, max_resolution: size } = stream;
  const quality = stream.quality ?? FULL_QUALITY;
  const ssrc = stream.ssrc ?? 0;
  return {
    type,
    rid: stream.rid ?? String(quality),
    quality,
    active: stream.active ?? false,
    ssrc,
    rtx_ssrc: stream.rtx_ssrc ?? rtxOf(ssrc),
    ...(max_bitrate != null && { max_bitrate }),
    ...(max_framerate != null && { max_framerate }),
    ...(size != null && { max_resolution: { type: size.type, width: size.width, height: size.height } }),
  };
}

/** Op 12. */
export const video = sessionOpcode(Video, (session, d) => {
  const videoSsrc = d.video_ssrc ?? 0;
  session.video({
    audioSsrc: d.audio_ssrc ?? 0,
    videoSsrc,
    rtxSsrc: d.rtx_ssrc ?? rtxOf(videoSsrc),
    streams: (d.streams ?? []).map(streamOf),
  });
  return true;
});
