import { VOICE_OP } from '../../protocol/voice.ts';
import { change, memberOf } from './call.ts';
import type { CallFact } from './facts.ts';
import { type CallMember, flagsOf, speakingPayload } from './member.ts';
import { type CallTopic, type ForMember, ofMember } from './topic.ts';

type SpeechCommands = {
  /** Op 5 of a client. */
  speak: ForMember<{ readonly flags: number }>;
  /** Media: audio of the member begins or stops to arrive. */
  hear: ForMember<{ readonly isReceived: boolean }>;
  /** The pause after an announcement is over. */
  announceSpeaking: ForMember;
};

/** Rapidly changing flags must not load a large call. Shorter than a pause between words. */
const SPEAKING_APART_MS = 100;

/** Announces the flags of the member, as it is once it has changed, if they differ from the last announcement. */
export function announcement(member: CallMember, nowMs: number): CallFact[] {
  const { announced, voiceMember } = member;
  const flags = flagsOf(member);
  // A member that was never allowed to speak has sent no media, so no other member needs its SSRC.
  if (announced === null ? voiceMember.silenced : flags === announced.flags || nowMs < announced.nextMs)
    return [];
  // Announcing an SSRC is not a change of its flags.
  const pauseMs = announced !== null || flags !== 0 ? SPEAKING_APART_MS : 0;
  return [{ type: 'speakingAnnounced', userId: voiceMember.userId, flags, atMs: nowMs, pauseMs }];
}

/** Speech of members, as clients claim it and as media hear it. */
export const speech: CallTopic<SpeechCommands, 'speakingClaimed' | 'audioReceived' | 'speakingAnnounced'> = {
  commands: {
    speak: {
      decide: ofMember((member, { userId, flags }, _state, { nowMs }) => {
        const changed = { ...member, speech: { ...member.speech, claimed: flags } };
        return [{ type: 'speakingClaimed', userId, flags }, ...announcement(changed, nowMs)];
      }),
    },
    hear: {
      decide: ofMember((member, { userId, isReceived }, _state, { nowMs }) => {
        const changed = { ...member, speech: { ...member.speech, isReceived } };
        return [{ type: 'audioReceived', userId, isReceived }, ...announcement(changed, nowMs)];
      }),
    },
    announceSpeaking: {
      decide: ofMember((member, _input, _state, { nowMs }) => announcement(member, nowMs)),
    },
  },
  facts: {
    speakingClaimed: {
      durable: false,
      apply: (state, fact) =>
        change(state, fact, { speech: { ...memberOf(state, fact).speech, claimed: fact.flags } }),
      dispatches: (_state, { userId, flags }) => (flags === 0 ? [] : [{ kind: 'spoke', userId }]),
    },
    audioReceived: {
      durable: false,
      apply: (state, fact) =>
        change(state, fact, { speech: { ...memberOf(state, fact).speech, isReceived: fact.isReceived } }),
      dispatches: (_state, { userId }) => [{ kind: 'spoke', userId }],
    },
    speakingAnnounced: {
      durable: false,
      apply: (state, fact) =>
        change(state, fact, { announced: { flags: fact.flags, nextMs: fact.atMs + fact.pauseMs } }),
      dispatches: (state, { userId, pauseMs }) => [
        {
          kind: 'toOthers',
          userId,
          op: VOICE_OP.SPEAKING,
          d: speakingPayload(memberOf(state, { userId })),
        },
        ...(pauseMs > 0 ? [{ kind: 'announceLater', userId, delayMs: pauseMs } as const] : []),
      ],
    },
  },
};
