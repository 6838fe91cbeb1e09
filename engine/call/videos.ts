import type { UserId } from '../../protocol/ids.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import { change, memberOf, withMember } from './call.ts';
import type { CallFact } from './facts.ts';
import { type CallMember, ownVideo, shownVideo, showsVideo, videoPayload } from './member.ts';
import type { VideoUpdate, VoiceCodec } from './requests.ts';
import { type CallTopic, type ForMember, ofMember } from './topic.ts';
import { type SinkWants, sameWanted, sharedCodecs, videoCodec, wantedLayers } from './video.ts';

type VideoCommands = {
  /** Op 12 of a client: the video that it sends from now on. */
  film: ForMember<{ readonly update: VideoUpdate }>;
  /** Op 15 of a client: the qualities that it wants to receive. */
  wantLayers: ForMember<{ readonly wants: SinkWants }>;
  /** Op 14 of a client: the codecs that it can encode and decode. */
  offerCodecs: ForMember<{ readonly codecs: readonly VoiceCodec[] }>;
};

type Members = ReadonlyMap<UserId, CallMember>;

function* wantsBesides(members: Members, sender: CallMember): Generator<SinkWants> {
  for (const member of members.values()) if (member !== sender) yield member.wants;
}

/** The requests to members with video whose wanted layers have changed. O(senders · members). */
export function layerRequests(members: Members): CallFact[] {
  const facts: CallFact[] = [];
  for (const [userId, sender] of members) {
    if (!showsVideo(sender)) continue;
    const layers = wantedLayers(sender.layers, wantsBesides(members, sender));
    if (sender.requested === null || !sameWanted(layers, sender.requested))
      facts.push({ type: 'layersRequested', userId, layers });
  }
  return facts;
}

/** The video codec that a member must send in a call of these members. */
export const codecFor = (member: CallMember, members: Members): string =>
  videoCodec(member.codecs, sharedCodecs([...members.values()].map(({ codecs }) => codecs)));

/** The changes of video codecs of members who have their Session Description. O(members · codecs). */
export function codecChanges(members: Members): CallFact[] {
  const shared = sharedCodecs([...members.values()].map(({ codecs }) => codecs));
  const facts: CallFact[] = [];
  for (const [userId, { codec: last, codecs }] of members) {
    const codec = videoCodec(codecs, shared);
    if (last !== null && codec !== last) facts.push({ type: 'codecChosen', userId, codec });
  }
  return facts;
}

/** The dispatches after a change of a member's state that may change the video which others see. */
export function videoChanges(before: CallMember, after: CallMember, members: Members): CallFact[] {
  if (shownVideo(before) === shownVideo(after)) return [];
  return [{ type: 'videoShown', userId: after.voiceMember.userId }, ...layerRequests(members)];
}

type VideoFacts =
  | 'videoChanged'
  | 'videoShown'
  | 'wantsChanged'
  | 'layersRequested'
  | 'codecsOffered'
  | 'codecChosen';

/** The members' video: what they send, in which codec and in which layers. */
export const videos: CallTopic<VideoCommands, VideoFacts> = {
  commands: {
    film: {
      decide: ofMember((member, { userId, update }, state) => {
        const changed = { ...member, video: ownVideo(member, update) };
        return [
          { type: 'videoChanged', userId, video: changed.video },
          ...videoChanges(member, changed, withMember(state, changed)),
        ];
      }),
    },
    wantLayers: {
      decide: ofMember((member, { userId, wants }, state) => [
        { type: 'wantsChanged', userId, wants },
        ...layerRequests(withMember(state, { ...member, wants })),
      ]),
    },
    offerCodecs: {
      decide: ofMember((member, { userId, codecs }, state) => [
        { type: 'codecsOffered', userId, codecs },
        ...codecChanges(withMember(state, { ...member, codecs })),
      ]),
    },
  },
  facts: {
    videoChanged: {
      durable: false,
      apply: (state, fact) => change(state, fact, { video: fact.video }),
      dispatches: () => [],
    },
    videoShown: {
      durable: false,
      apply: () => {},
      dispatches: (state, fact) => {
        const member = memberOf(state, fact);
        const streams = shownVideo(member).streams.map(
          ({ ssrc, rtx_ssrc: rtxSsrc, rid, quality, active }) => ({ ssrc, rtxSsrc, rid, quality, active }),
        );
        return [
          { kind: 'streams', ssrc: member.ssrc, streams },
          { kind: 'toOthers', userId: fact.userId, op: VOICE_OP.VIDEO, d: videoPayload(member) },
        ];
      },
    },
    wantsChanged: {
      durable: false,
      apply: (state, fact) => change(state, fact, { wants: fact.wants }),
      dispatches: (state, fact) => [
        { kind: 'sinkWants', ssrc: memberOf(state, fact).ssrc, wants: fact.wants },
      ],
    },
    layersRequested: {
      durable: false,
      apply: (state, fact) => change(state, fact, { requested: fact.layers }),
      dispatches: (_state, { userId, layers }) => [
        { kind: 'toMember', userId, op: VOICE_OP.MEDIA_SINK_WANTS, d: layers },
      ],
    },
    codecsOffered: {
      durable: false,
      apply: (state, fact) => change(state, fact, { codecs: fact.codecs }),
      dispatches: (state, fact) => [
        { kind: 'payloadTypes', ssrc: memberOf(state, fact).ssrc, codecs: fact.codecs },
      ],
    },
    codecChosen: {
      durable: false,
      apply: (state, fact) => change(state, fact, { codec: fact.codec }),
      dispatches: (state, { userId, codec }) => [
        {
          kind: 'toMember',
          userId,
          op: VOICE_OP.SESSION_UPDATE,
          d: {
            audio_codec: 'opus',
            video_codec: codec,
            media_session_id: memberOf(state, { userId }).mediaSessionId,
          },
        },
      ],
    },
  },
};
