import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { UserId } from '../../protocol/ids.ts';

export type { VoiceMember };

/** The connection a voice session writes to. Implemented by the voice socket; a session may outlive many. */
export interface VoiceSink {
  /** IP address of the client, as the network or the proxy says. */
  readonly address: string;
  /** Sends one JSON frame; `seq` is null for what is not replayed (2, 6, 8, 9 …), and for versions under 8. */
  send(op: number, d: unknown, seq: number | null): void;
  /** Sends one binary frame: big-endian u16 `seq`, opcode, payload. The bytes are not changed later. */
  sendBinary(op: number, payload: Uint8Array, seq: number): void;
  /** Closes with one of the voice gateway's close codes. */
  close(code: number, reason: string): void;
}

/** Op 0 after it was parsed. */
export interface VoiceIdentify {
  /** Version of the connection, 4 to 9. */
  readonly version: number;
  /** Guild, private channel or lobby. */
  readonly serverId: string;
  /** Version 9 only. */
  readonly channelId: string | null;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  /** 0: none. */
  readonly maxDaveVersion: number;
  readonly video: boolean;
  /** At most 8. */
  readonly streams: readonly { readonly type: string; readonly rid: string; readonly quality: number }[];
}

/** Op 7 after it was parsed. */
export interface VoiceResume {
  readonly version: number;
  readonly serverId: string;
  readonly sessionId: string;
  readonly token: string;
  /** Last sequence number the client saw; -1: none (also for versions under 8). */
  readonly seqAck: number;
}

/** Op 1 after it was parsed. `mode` and `fragment` are what the client sent: they may be nothing known here. */
export type SelectProtocol = { readonly codecs: readonly VoiceCodec[] } & (
  | { readonly protocol: 'udp'; readonly address: string; readonly port: number; readonly mode: string }
  | { readonly protocol: 'webrtc'; readonly fragment: string }
);

export interface VoiceCodec {
  readonly name: string;
  readonly type: 'audio' | 'video';
  readonly priority: number;
  readonly payloadType: number;
  readonly rtxPayloadType: number | null;
  readonly encode: boolean;
  readonly decode: boolean;
}

/** Op 12 after it was parsed. `videoSsrc` 0: no video. */
export interface VideoUpdate {
  readonly audioSsrc: number;
  readonly videoSsrc: number;
  readonly rtxSsrc: number;
  /** At most 8; the wire's own objects, checked for form. */
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

/** A live voice session as the socket sees it. Every method is cheap and never throws on client input. */
export interface VoiceSession {
  readonly userId: string;
  selectProtocol(select: SelectProtocol): void;
  speaking(flags: number, ssrc: number): void;
  video(update: VideoUpdate): void;
  /** Op 14 from a client. */
  codecs(codecs: readonly VoiceCodec[]): void;
  sinkWants(wants: { readonly any: number; readonly bySsrc: ReadonlyMap<number, number> }): void;
  /** Binary frame of op 26 or 28 without its opcode byte. The bytes may be kept. */
  dave(op: number, payload: Uint8Array): void;
  transitionReady(transitionId: number): void;
  invalidCommitWelcome(transitionId: number): void;
  /** What op 3 acknowledges: frames up to there are no longer kept. */
  acknowledge(seq: number): void;
  /** The socket went away. `resumable`: keep the session for its window; otherwise it leaves the call now. */
  detach(sink: VoiceSink, resumable: boolean): void;
}

export type VoiceOutcome =
  | { readonly kind: 'open'; readonly session: VoiceSession }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string };

/** What the voice transport asks of the calls. A throw is a fault: the socket closes with 4015. */
export interface VoicePort {
  /** READY and CLIENTS_CONNECT are sent before it returns. */
  identify(identify: VoiceIdentify, sink: VoiceSink): VoiceOutcome;
  /** RESUMED and what was missed are sent before it returns. */
  resume(resume: VoiceResume, sink: VoiceSink): VoiceOutcome;
}

/** What owners of voice states tell the calls. Never throws. */
export interface VoiceListener {
  /** A seat is new, or changed. A new channel or session makes a new ticket: the client gets VOICE_SERVER_UPDATE. */
  voiceJoined(voiceMember: VoiceMember): void;
  /** The user is no longer in voice on that server: its connection closes with 4014. */
  voiceLeft(serverId: string, userId: UserId): void;
  /**
   * The channel is gone, or the whole server: everyone's connection closes with 4022. `moved`: it goes on at another
   * shard, which tells everyone where; connections that are still here some seconds later close with 4015.
   */
  ended(callId: string, moved?: MovedCall): void;
}

/** Whose call goes on at another shard. */
export type MovedCall = 'guild' | 'lobby' | 'private';
