/**
 * Opcodes of the voice gateway. 25 to 30 are binary frames, all others JSON.
 *
 * @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#voice-voice-opcodes;
 * https://daveprotocol.com, version 1.1.4, for 21 to 31
 */
export const VOICE_OP = {
  IDENTIFY: 0,
  SELECT_PROTOCOL: 1,
  READY: 2,
  HEARTBEAT: 3,
  SESSION_DESCRIPTION: 4,
  SPEAKING: 5,
  HEARTBEAT_ACK: 6,
  RESUME: 7,
  HELLO: 8,
  RESUMED: 9,
  CLIENTS_CONNECT: 11,
  VIDEO: 12,
  CLIENT_DISCONNECT: 13,
  SESSION_UPDATE: 14,
  MEDIA_SINK_WANTS: 15,
  VOICE_BACKEND_VERSION: 16,
  CHANNEL_OPTIONS_UPDATE: 17,
  CLIENT_FLAGS: 18,
  SPEED_TEST: 19,
  CLIENT_PLATFORM: 20,
  DAVE_PREPARE_TRANSITION: 21,
  DAVE_EXECUTE_TRANSITION: 22,
  DAVE_TRANSITION_READY: 23,
  DAVE_PREPARE_EPOCH: 24,
  DAVE_MLS_EXTERNAL_SENDER: 25,
  DAVE_MLS_KEY_PACKAGE: 26,
  DAVE_MLS_PROPOSALS: 27,
  DAVE_MLS_COMMIT_WELCOME: 28,
  DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION: 29,
  DAVE_MLS_WELCOME: 30,
  DAVE_MLS_INVALID_COMMIT_WELCOME: 31,
  NO_ROUTE: 32,
} as const satisfies Record<string, number>;

/** Opcodes that travel as binary frames. */
export const BINARY_VOICE_OPS: ReadonlySet<number> = new Set([25, 26, 27, 28, 29, 30]);

export interface VoiceCloseRow {
  readonly code: number;
  readonly reason: string;
  /** Whether the voice session survives the connection, so that op 7 may succeed. */
  readonly resumable: boolean;
}

const close = (code: number, reason: string, resumable: boolean): VoiceCloseRow => ({
  code,
  reason,
  resumable,
});

/**
 * Close codes of the voice gateway.
 *
 * @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#voice-voice-close-event-codes
 */
export const VOICE_CLOSE = {
  UNKNOWN_OPCODE: close(4001, 'Unknown opcode.', true),
  DECODE_ERROR: close(4002, 'Failed to decode payload.', true),
  NOT_AUTHENTICATED: close(4003, 'Not authenticated.', false),
  AUTHENTICATION_FAILED: close(4004, 'Authentication failed.', false),
  ALREADY_AUTHENTICATED: close(4005, 'Already authenticated.', true),
  SESSION_INVALID: close(4006, 'Session no longer valid.', false),
  SESSION_TIMEOUT: close(4009, 'Session timeout.', false),
  SERVER_NOT_FOUND: close(4011, 'Server not found.', false),
  UNKNOWN_PROTOCOL: close(4012, 'Unknown protocol.', false),
  WEBRTC_CRASHED: close(4013, 'The WebRTC connection crashed.', true),
  DISCONNECTED: close(4014, 'Disconnected.', false),
  SERVER_CRASHED: close(4015, 'Voice server crashed.', true),
  UNKNOWN_ENCRYPTION_MODE: close(4016, 'Unknown encryption mode.', false),
  /** Instructions for users, for clients that show the reason of a close frame, which is at most 123 bytes long. */
  E2EE_REQUIRED: close(
    4017,
    'E2EE/DAVE protocol required: use a voice library with DAVE, such as @discordjs/voice 0.19 or newer.',
    false,
  ),
  BAD_REQUEST: close(4020, 'Bad request.', false),
  RATE_LIMITED: close(4021, 'Rate limited.', false),
  CALL_TERMINATED: close(4022, 'Call terminated.', false),
} as const satisfies Record<string, VoiceCloseRow>;

/** Bits of op 5. */
export const SPEAKING = { MICROPHONE: 1, SOUNDSHARE: 2, PRIORITY: 4 } as const;

/** Transport encryption modes, in the order in which READY offers them. All others are refused with 4016. */
export const TRANSPORT_MODES = ['aead_aes256_gcm_rtpsize', 'aead_xchacha20_poly1305_rtpsize'] as const;
export type TransportMode = (typeof TRANSPORT_MODES)[number];

/** Supported versions of the voice gateway; a missing version, or one outside this range, is rejected. */
export const VOICE_VERSIONS = { min: 4, max: 9 } as const;

/** The newest supported DAVE protocol version. */
export const DAVE_VERSION_MAX = 1;

/** The Opus frame of silence; DAVE passes it unencrypted. */
export const SILENCE_FRAME: Uint8Array = Uint8Array.of(0xf8, 0xff, 0xfe);

/** Last two bytes of every DAVE frame. */
export const DAVE_MARKER = 0xfafa;

/** Payload types: Opus is 120 by default on UDP; video is negotiated. */
export const OPUS_PAYLOAD_TYPE = 120;

/** Codecs that a call forwards, in the default order. `payloadType` and `rtxPayloadType` are used when a client names none. */
export const VIDEO_CODECS = [
  { name: 'H264', payloadType: 101, rtxPayloadType: 102 },
  { name: 'VP8', payloadType: 103, rtxPayloadType: 104 },
  { name: 'VP9', payloadType: 105, rtxPayloadType: 106 },
  { name: 'AV1', payloadType: 107, rtxPayloadType: 108 },
  { name: 'H265', payloadType: 109, rtxPayloadType: 110 },
] as const;
