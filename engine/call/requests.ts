import type { Codec } from './video.ts';

/** Parsed op 1. `mode` and `fragment` come from the client unchecked and may be unknown. */
export type SelectProtocol = { readonly codecs: readonly VoiceCodec[] } & (
  | { readonly protocol: 'udp'; readonly address: string; readonly port: number; readonly mode: string }
  | { readonly protocol: 'webrtc'; readonly fragment: string }
);

/** A codec with the payload types that the client uses for it. */
export interface VoiceCodec extends Codec {
  readonly payloadType: number;
  readonly rtxPayloadType: number | null;
}

/** Parsed op 12. `videoSsrc` is 0 without video. */
export interface VideoUpdate {
  readonly audioSsrc: number;
  readonly videoSsrc: number;
  readonly rtxSsrc: number;
  /** At most 8 wire objects, validated. */
  readonly streams: readonly WireStream[];
}

export interface WireStream {
  readonly type: string;
  readonly rid: string;
  readonly quality: number;
  readonly active: boolean;
  readonly ssrc: number;
  readonly rtx_ssrc: number;
  readonly max_bitrate?: number;
  readonly max_framerate?: number;
  readonly max_resolution?: { readonly type: string; readonly width: number; readonly height: number };
}
