import { TRANSPORT_MODES, type TransportMode } from '../../protocol/voice.ts';
import type { Layer } from './video.ts';

/** Op 2. `streams` only for a client that offered streams. */
export const readyPayload = (
  ssrc: number,
  address: { readonly ip: string; readonly port: number },
  layers: readonly Layer[],
) => ({
  ssrc,
  ip: address.ip,
  port: address.port,
  modes: TRANSPORT_MODES,
  experiments: [],
  ...(layers.length > 0 && {
    streams: layers.map((layer) => ({
      type: layer.type,
      rid: layer.rid,
      quality: layer.quality,
      active: false,
      ssrc: layer.ssrc,
      rtx_ssrc: layer.rtxSsrc,
    })),
  }),
});

export type Transport =
  | { readonly kind: 'udp'; readonly mode: TransportMode; readonly key: Uint8Array }
  | { readonly kind: 'webrtc'; readonly sdp: string };

/** Op 4. */
export const descriptionPayload = (
  transport: Transport,
  rest: { readonly daveVersion: number; readonly videoCodec: string; readonly mediaSessionId: string },
) => ({
  ...(transport.kind === 'udp'
    ? { mode: transport.mode, secret_key: [...transport.key] }
    : { sdp: transport.sdp }),
  dave_protocol_version: rest.daveVersion,
  audio_codec: 'opus',
  video_codec: rest.videoCodec,
  media_session_id: rest.mediaSessionId,
});
