import type { SelectProtocol, VideoUpdate, VoiceCodec } from '../../engine/call/requests.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';

export type { VoiceMember };

/** The connection of a voice session, implemented by the voice socket. A session may outlive many connections. */
export interface VoiceSink {
  /** IP address of the client, as reported by the network or the proxy. */
  readonly address: string;
  /** Sends one JSON frame. `seq` is null for frames that are not replayed (2, 6, 8, 9 …) and for versions under 8. */
  send(op: ServerVoiceOp, d: unknown, seq: number | null): void;
  /** Sends one binary frame: big-endian u16 `seq`, opcode, payload. The caller does not change the bytes later. */
  sendBinary(op: ServerVoiceOp, payload: Uint8Array, seq: number): void;
  /** Closes the connection with a close code of the voice gateway. */
  close(code: number, reason: string): void;
}

/** Parsed op 0. */
export interface VoiceIdentify {
  /** Version of the connection, 4 to 9. */
  readonly version: number;
  /** Id of a guild, private channel or lobby. */
  readonly serverId: string;
  /** Version 9 only. */
  readonly channelId: string | null;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  /** 0 for none. */
  readonly maxDaveVersion: number;
  readonly video: boolean;
  /** At most 8. */
  readonly streams: readonly { readonly type: string; readonly rid: string; readonly quality: number }[];
}

/** Parsed op 7. */
export interface VoiceResume {
  readonly version: number;
  readonly serverId: string;
  readonly sessionId: string;
  readonly token: string;
  /** Last sequence number that the client received; -1 for none, and for versions under 8. */
  readonly seqAck: number;
}

/** A live voice session as the socket uses it. Every method is cheap and never throws on client input. */
export interface VoiceSession {
  readonly userId: string;
  selectProtocol(select: SelectProtocol): void;
  speaking(flags: number, ssrc: number): void;
  video(update: VideoUpdate): void;
  /** Op 14 from a client. */
  codecs(codecs: readonly VoiceCodec[]): void;
  sinkWants(wants: { readonly any: number; readonly bySsrc: ReadonlyMap<number, number> }): void;
  /** Binary frame of op 26 or 28 without its opcode byte. The callee may keep the bytes. */
  dave(op: number, payload: Uint8Array): void;
  transitionReady(transitionId: number): void;
  invalidCommitWelcome(transitionId: number): void;
  /** Op 3 acknowledges frames up to `seq`; they are dropped from the replay buffer. */
  acknowledge(seq: number): void;
  /** The socket closed. With `resumable` the session stays for its resume window; otherwise it leaves the call now. */
  detach(sink: VoiceSink, resumable: boolean): void;
}

export type VoiceOutcome =
  | { readonly kind: 'open'; readonly session: VoiceSession }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string };

/** Operations of the calls for the voice transport. A throw is a fault: the socket closes with 4015. */
export interface VoicePort {
  /** Sends READY and CLIENTS_CONNECT before it returns. */
  identify(identify: VoiceIdentify, sink: VoiceSink): VoiceOutcome;
  /** Sends RESUMED and the missed frames before it returns. */
  resume(resume: VoiceResume, sink: VoiceSink): VoiceOutcome;
}

/** The connection of a client whose call is at another shard, on its way there: its frames pass unread. */
export interface VoiceRelay {
  /** A frame of the client, whose bytes are valid during the call only. */
  received(bytes: Uint8Array, binary: boolean): void;
  /** The client's connection has ended with this code. */
  closed(code: number): void;
}

/** A client whose frames are relayed, as the shard of its call reaches it. */
export interface RelayedClient {
  readonly address: string;
  /** Version of the connection, 4 to 9. */
  readonly version: number;
  pass(frame: Uint8Array, binary: boolean): void;
  close(code: number, reason: string): void;
  /** Ends the connection as if the network had failed. */
  terminate(): void;
}

/** The end of a relay at the shard of the call, which a voice socket has in place of a connection. */
export interface RelayEnd {
  /** @returns 1: passed on; 0: it waits for the client; 2: dropped. */
  send(frame: string | Uint8Array, isBinary: boolean): number;
  getBufferedAmount(): number;
  end(code: number, reason: string): void;
  close(): void;
}

/** Relays clients that have reached this shard through a port that several shards share. */
export interface VoiceRelays {
  /** @returns `here`: this shard has the call. `unknown`: which one has it is unknown for a moment. */
  open(serverId: string, client: RelayedClient): VoiceRelay | 'here' | 'unknown';
}

/** Notifications from the owners of voice states to the calls. Never throws. */
export interface VoiceListener {
  /**
   * A voice member is new or changed. A new channel or session gets a new token: the client receives
   * VOICE_SERVER_UPDATE.
   */
  voiceJoined(voiceMember: VoiceMember): void;
  /** The user is no longer in voice on that server: its connection closes with 4014. */
  voiceLeft(serverId: string, userId: UserId): void;
  /**
   * The channel or the whole server was deleted: every connection closes with 4022. Given its kind, the call continues: where it
   * has `moved` to, which sends everyone its endpoint, or here, when its owner that was `interrupted` is loaded again. Connections
   * that are still open then, and in any case after 5 or 60 seconds, close with 4015.
   */
  ended(callId: string, continues?: ContinuedCall, because?: 'moved' | 'interrupted'): void;
}

/** Kind of owner of a call that continues. */
export type ContinuedCall = 'guild' | 'lobby' | 'private';
