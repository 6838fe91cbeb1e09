import type { UserId } from '../../protocol/ids.ts';
import type { VoiceCloseRow } from '../../protocol/voice.ts';
import type { FactOf } from '../kernel/aggregate.ts';
import type { UdpTransport } from './dispatch.ts';
import type { CallMember, Video } from './member.ts';
import type { Transport } from './payloads.ts';
import type { VoiceCodec } from './requests.ts';
import type { SinkWants, WantedLayers } from './video.ts';
import type { VoiceMember } from './voicemember.ts';

interface UserFact {
  readonly userId: UserId;
}

/** Facts of a call. None is stored: a call ends with the process. */
export type CallFacts = {
  /** `address`: where the member sends UDP to. */
  memberEntered: {
    readonly member: CallMember;
    readonly address: { readonly ip: string; readonly port: number };
  };
  memberLeft: UserFact & { readonly ssrc: number };
  memberChanged: { readonly voiceMember: VoiceMember };
  audienceChanged: UserFact & { readonly audience: ReadonlySet<UserId> | null };
  /** The other members were introduced to the member once more. */
  othersIntroduced: UserFact;
  /** Op 5 of a client. */
  speakingClaimed: UserFact & { readonly flags: number };
  /** Audio of the member begins or stops to arrive. */
  audioReceived: UserFact & { readonly isReceived: boolean };
  /** `pauseMs`: for how long no other flags are announced. */
  speakingAnnounced: UserFact & { readonly flags: number; readonly atMs: number; readonly pauseMs: number };
  /** Op 12 of a client. The others see it when `videoShown` follows. */
  videoChanged: UserFact & { readonly video: Video };
  /** The others see another video of the member. */
  videoShown: UserFact;
  wantsChanged: UserFact & { readonly wants: SinkWants };
  /** The member is asked to send these layers. */
  layersRequested: UserFact & { readonly layers: WantedLayers };
  codecsOffered: UserFact & { readonly codecs: readonly VoiceCodec[] };
  /** The member is to send another video codec. */
  codecChosen: UserFact & { readonly codec: string };
  protocolSelected: UserFact;
  udpConnected: UserFact & { readonly transport: UdpTransport };
  peerRequested: UserFact & { readonly fragment: string };
  memberDescribed: UserFact & { readonly transport: Transport; readonly codec: string };
  mediaReached: UserFact;
  connectionClosed: UserFact & { readonly close: VoiceCloseRow };
  ticketRenewed: UserFact;
  encryptedOnlySet: { readonly encryptedOnly: boolean };
};

export type CallFact = FactOf<CallFacts>;
