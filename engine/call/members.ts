import type { UserId } from '../../protocol/ids.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import { accepted, withBefore } from '../kernel/aggregate.ts';
import { gateOf, sameGate } from './audibility.ts';
import { type CallState, change, memberOf, withMember } from './call.ts';
import type { CallDispatch } from './dispatch.ts';
import { type CallMember, NO_VIDEO, showsVideo, speakingPayload, videoPayload } from './member.ts';
import { readyPayload } from './payloads.ts';
import { announcement } from './speech.ts';
import { type CallTopic, type ForMember, ofMember } from './topic.ts';
import { type Layer, wantsAtFirst } from './video.ts';
import { codecChanges, layerRequests, videoChanges } from './videos.ts';
import type { VoiceMember } from './voicemember.ts';

/** A user whose voice session opens. Media have allotted the SSRCs. */
export interface Entering extends Pick<CallMember, 'voiceMember' | 'audience' | 'ssrc' | 'mediaSessionId'> {
  readonly layers: readonly Layer[];
  /** Where the member sends UDP to. */
  readonly address: { readonly ip: string; readonly port: number };
}

type MemberCommands = {
  /** Adds a member, and introduces it and the others to each other. Does nothing for a user who is a member. */
  enter: { input: Entering; value: null };
  /** The member's voice session has ended. */
  leave: ForMember;
  /** The user's voice state has changed. */
  changeMember: ForMember<{ readonly voiceMember: VoiceMember }>;
  /** Restricts who may hear the member; null for everyone. */
  changeAudience: ForMember<{ readonly audience: ReadonlySet<UserId> | null }>;
  /** Introduces the others again, to a client that resumed without the frames that it missed. */
  introduceOthers: ForMember;
};

const newMember = ({ voiceMember, audience, ssrc, layers, mediaSessionId }: Entering): CallMember => ({
  ...{ voiceMember, audience, ssrc, layers, mediaSessionId },
  transport: null,
  selections: 0,
  attempts: 0,
  speech: { claimed: null, isReceived: false },
  announced: null,
  video: NO_VIDEO,
  codecs: [],
  codec: null,
  wants: wantsAtFirst(layers),
  requested: null,
});

/** The other members: their user ids, SSRCs and video. */
function introductions({ members }: CallState, userId: UserId): CallDispatch[] {
  const others = [...members.values()].filter(({ voiceMember }) => voiceMember.userId !== userId);
  if (others.length === 0) return [];
  const userIds = others.map(({ voiceMember }) => voiceMember.userId);
  const frames: CallDispatch[] = [
    { kind: 'toMember', userId, op: VOICE_OP.CLIENTS_CONNECT, d: { user_ids: userIds } },
  ];
  for (const other of others) {
    if (other.announced !== null)
      frames.push({ kind: 'toMember', userId, op: VOICE_OP.SPEAKING, d: speakingPayload(other) });
    if (showsVideo(other))
      frames.push({ kind: 'toMember', userId, op: VOICE_OP.VIDEO, d: videoPayload(other) });
  }
  return frames;
}

/** Media know members by SSRC: only the listeners who are connected. O(listeners). */
function audienceSetting({ members }: CallState, { ssrc, audience }: CallMember): CallDispatch {
  const only = audience && [...audience].flatMap((userId) => members.get(userId)?.ssrc ?? []);
  return { kind: 'audience', ssrc, only };
}

/** The audiences in which a user is who comes or goes. */
const audiencesOf = (state: CallState, userId: UserId): CallDispatch[] =>
  [...state.members.values()].flatMap((member) =>
    member.audience?.has(userId) ? [audienceSetting(state, member)] : [],
  );

/** The dispatches of a new member, which is in the state. */
function entered(
  state: CallState,
  member: CallMember,
  address: { readonly ip: string; readonly port: number },
): CallDispatch[] {
  const { ssrc, layers, wants, voiceMember, audience } = member;
  const { userId } = voiceMember;
  return [
    { kind: 'sinkWants', ssrc, wants },
    { kind: 'gate', ssrc, gate: gateOf(voiceMember) },
    ...audiencesOf(state, userId),
    ...(audience ? [audienceSetting(state, member)] : []),
    { kind: 'toMemberOnce', userId, op: VOICE_OP.READY, d: readyPayload(ssrc, address, layers) },
    ...introductions(state, userId),
    { kind: 'toOthers', userId, op: VOICE_OP.CLIENTS_CONNECT, d: { user_ids: [userId] } },
  ];
}

const commands: CallTopic<MemberCommands, never>['commands'] = {
  enter: {
    decide: (state, entering, _by, { nowMs }) => {
      if (state.members.has(entering.voiceMember.userId)) return accepted(null);
      const member = newMember(entering);
      // Media are faster than signalling: stock clients drop packets of an SSRC that they do not know yet.
      const introduced = announcement(member, nowMs);
      return accepted(null, [{ type: 'memberEntered', member, address: entering.address }, ...introduced]);
    },
  },
  leave: {
    decide: ofMember(({ ssrc }, { userId }, state) => {
      const members = new Map(state.members);
      members.delete(userId);
      return [{ type: 'memberLeft', userId, ssrc }, ...codecChanges(members), ...layerRequests(members)];
    }),
  },
  changeMember: {
    decide: ofMember((member, { voiceMember }, state, { nowMs }) => {
      const changed = { ...member, voiceMember };
      return [
        { type: 'memberChanged', voiceMember },
        ...announcement(changed, nowMs),
        ...videoChanges(member, changed, withMember(state, changed)),
      ];
    }),
  },
  changeAudience: {
    decide: ofMember((_member, { userId, audience }) => [{ type: 'audienceChanged', userId, audience }]),
  },
  introduceOthers: { decide: ofMember((_member, { userId }) => [{ type: 'othersIntroduced', userId }]) },
};

type MemberFacts = 'memberEntered' | 'memberLeft' | 'memberChanged' | 'audienceChanged' | 'othersIntroduced';

/** The members of a call, whose audio each may receive, and how members are introduced to each other. */
export const members: CallTopic<MemberCommands, MemberFacts> = {
  commands,
  facts: {
    memberEntered: {
      durable: false,
      apply: (state, { member }) => {
        state.members.set(member.voiceMember.userId, member);
        state.bySsrc.set(member.ssrc, member.voiceMember.userId);
      },
      dispatches: (state, { member, address }) => entered(state, member, address),
    },
    memberLeft: {
      durable: false,
      apply: (state, { userId, ssrc }) => {
        state.members.delete(userId);
        state.bySsrc.delete(ssrc);
      },
      dispatches: (state, { userId, ssrc }) => [
        { kind: 'leave', ssrc },
        { kind: 'toOthers', userId, op: VOICE_OP.CLIENT_DISCONNECT, d: { user_id: userId } },
        { kind: 'leaveGroup', userId },
        ...audiencesOf(state, userId),
      ],
    },
    memberChanged: withBefore({
      durable: false,
      before: (state, { voiceMember }) => gateOf(memberOf(state, voiceMember).voiceMember),
      apply: (state, { voiceMember }) => change(state, voiceMember, { voiceMember }),
      dispatches: (state, { voiceMember }, before) => {
        const gate = gateOf(voiceMember);
        return sameGate(gate, before)
          ? []
          : [{ kind: 'gate', ssrc: memberOf(state, voiceMember).ssrc, gate }];
      },
    }),
    audienceChanged: {
      durable: false,
      apply: (state, fact) => change(state, fact, { audience: fact.audience }),
      dispatches: (state, fact) => [audienceSetting(state, memberOf(state, fact))],
    },
    othersIntroduced: {
      durable: false,
      apply: () => {},
      dispatches: (state, { userId }) => introductions(state, userId),
    },
  },
};
