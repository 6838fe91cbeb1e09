import type { UserId } from '../../protocol/ids.ts';
import type { TransportMode, VoiceCloseRow } from '../../protocol/voice.ts';
import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';
import type { Gate } from './audibility.ts';
import type { Transport } from './payloads.ts';
import type { VoiceCodec } from './requests.ts';
import type { SinkWants } from './video.ts';

/** Orders to the actor of a call after a fact, carried out in the order of the list. */
export type CallDispatch = VoiceFrame | MediaSetting | SessionStep;

/** A frame of the voice gateway. */
type VoiceFrame =
  | { readonly kind: 'toMember'; readonly userId: UserId; readonly op: ServerVoiceOp; readonly d: object }
  /** Not numbered and not kept for a resume. */
  | { readonly kind: 'toMemberOnce'; readonly userId: UserId; readonly op: ServerVoiceOp; readonly d: object }
  /** To every member except this one. */
  | { readonly kind: 'toOthers'; readonly userId: UserId; readonly op: ServerVoiceOp; readonly d: object };

/** A setting of the media plane, which knows members by their SSRC. */
export type MediaSetting =
  | { readonly kind: 'gate'; readonly ssrc: number; readonly gate: Gate }
  | { readonly kind: 'audience'; readonly ssrc: number; readonly only: readonly number[] | null }
  | { readonly kind: 'streams'; readonly ssrc: number; readonly streams: readonly SentStream[] }
  | { readonly kind: 'sinkWants'; readonly ssrc: number; readonly wants: SinkWants }
  | { readonly kind: 'payloadTypes'; readonly ssrc: number; readonly codecs: readonly VoiceCodec[] }
  | { readonly kind: 'udp'; readonly ssrc: number; readonly transport: UdpTransport }
  | { readonly kind: 'encryptedOnly'; readonly encryptedOnly: boolean }
  | { readonly kind: 'leave'; readonly ssrc: number };

/** A step of one voice session that is more than a frame or a setting. */
type SessionStep =
  /** Ask media for a peer connection; the answer is the command `answerPeer` or `failPeer`. */
  | { readonly kind: 'requestPeer'; readonly peer: PeerRequest; readonly fragment: string }
  /** Send the Session Description with the DAVE version in force. A member who is not in the MLS group joins it. */
  | {
      readonly kind: 'describe';
      readonly userId: UserId;
      readonly transport: Transport;
      readonly videoCodec: string;
      readonly mediaSessionId: string;
    }
  /** Remove the user from the MLS group. */
  | { readonly kind: 'leaveGroup'; readonly userId: UserId }
  /** Run the command `announceSpeaking` after this time. */
  | { readonly kind: 'announceLater'; readonly userId: UserId; readonly delayMs: number }
  /** The user has spoken: the AFK timeout starts again. */
  | { readonly kind: 'spoke'; readonly userId: UserId }
  /** Close the connection. The session ends with it, unless the code is resumable. */
  | { readonly kind: 'close'; readonly userId: UserId; readonly close: VoiceCloseRow }
  /** Send the user another ticket, with which to connect again. */
  | { readonly kind: 'renewTicket'; readonly userId: UserId };

/** Identifies one Select Protocol of one voice session, so that late answers of media are recognized. */
export interface PeerRequest {
  readonly userId: UserId;
  readonly ssrc: number;
  readonly selection: number;
}

export interface UdpTransport {
  readonly mode: TransportMode;
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** The client's address as op 1 claims it, if its voice socket is connected from the same IP address; else null. */
  readonly claimed: { readonly address: string; readonly port: number } | null;
}

interface SentStream {
  readonly ssrc: number;
  readonly rtxSsrc: number;
  readonly rid: string;
  readonly quality: number;
  readonly active: boolean;
}
