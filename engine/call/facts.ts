import type { UserId } from '../../protocol/ids.ts';
import type { VoiceCloseRow } from '../../protocol/voice.ts';
import type { FactOf } from '../kernel/aggregate.ts';
import type { UdpTransport } from './dispatch.ts';
import type { CallMember, Video } from './member.ts';
import type { Transport } from './payloads.ts';
import type { VoiceCodec } from './requests.ts';
import type { SinkWants, WantedLayers } from './video.ts';
import type { VoiceMember } from './voicemember.ts';

interface Of {
  readonly userId: UserId;
}

/** Facts of a call. None is stored: a call ends with the process. */
export type CallFacts = {
  /** `address`: where the member sends UDP to. */
  memberEntered: {
    readonly member: CallMember;
    readonly address: { readonly ip: string; readonly port: number };
  };
  memberLeft: Of & { readonly ssrc: number };
  memberChanged: { readonly voiceMember: VoiceMember };
  audienceChanged: Of & { readonly audience: ReadonlySet<UserId> | null };
  /** The other members were introduced to the member once more. */
  othersIntroduced: Of;
  /** Op 5 of a client. */
  speakingClaimed: Of & { readonly flags: number };
  /** Audio of the member begins or stops to arrive. */
  audioReceived: Of & { readonly isReceived: boolean };
  /** `pauseMs`: for how long no other flags are announced. */
  speakingAnnounced: Of & { readonly flags: number; readonly atMs: number; readonly pauseMs: number };
  /** Op 12 of a client. The others see it when `videoShown` follows. */
  videoChanged: Of & { readonly video: Video };
  /** The others see another video of the member. */
  videoShown: Of;
  wantsChanged: Of & { readonly wants: SinkWants };
  /** The member is asked to send these layers. */
  layersRequested: Of & { readonly layers: WantedLayers };
  codecsOffered: Of & { readonly codecs: readonly VoiceCodec[] };
  /** The member is to send another video codec. */
  codecChosen: Of & { readonly codec: string };
  protocolSelected: Of;
  udpConnected: Of & { readonly transport: UdpTransport };
  peerRequested: Of & { readonly fragment: string };
  memberDescribed: Of & { readonly transport: Transport; readonly codec: string };
  mediaReached: Of;
  connectionClosed: Of & { readonly close: VoiceCloseRow };
  ticketRenewed: Of;
  encryptedOnlySet: { readonly encryptedOnly: boolean };
};

export type CallFact = FactOf<CallFacts>;
