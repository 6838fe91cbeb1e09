import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Seat } from '../call/seat.ts';
import { ownVoiceState, sameVoiceState, type VoiceWish } from '../call/voicestate.ts';
import { accepted, refused } from '../outcome.ts';
import type { LobbyState, LobbyVoiceState } from './lobby.ts';
import { type Decisions, foreign, systemOnly, type Told } from './topic.ts';

export type VoiceCommands = {
  /** Brings the caller's session into the call, or changes how it is in it. */
  setVoice: {
    input: VoiceWish;
    /** The state that holds now. */
    value: LobbyVoiceState;
  };
  /** Takes it out; nothing happens when another session of the caller is the one in the call. */
  leaveVoice: { input: { readonly sessionId: string }; value: null };
  /** Asks where the call is once more. */
  repeatVoice: { input: { readonly sessionId: string }; value: null };
  /** For the calls: the user is lost to voice for good. Does nothing when another session has taken over. */
  dropVoice: { input: { readonly userId: UserId; readonly sessionId: string }; value: null };
};

export const leavingVoice = ({ voiceStates }: LobbyState, userId: UserId): Told[] => {
  const state = voiceStates.get(userId);
  if (!state) return [];
  const voiceState = { ...state, channel_id: null };
  return [{ type: 'lobbyVoiceChanged', userId, voiceState, turn: 'left' }];
};

/** Leaving, if this is the session in the call. */
const leavingWith = (state: LobbyState, userId: UserId, sessionId: string): Told[] =>
  state.voiceStates.get(userId)?.session_id === sessionId ? leavingVoice(state, userId) : [];

export const voiceDecisions: Decisions<VoiceCommands> = {
  setVoice: (state, input, by) => {
    const no = foreign(state, by);
    if (no) return refused(no);
    const session = state.sessions.get(input.sessionId);
    if (!state.members.has(by.userId) || session?.userId !== by.userId)
      return refused(refusal('MISSING_ACCESS'));
    const { id } = state.lobby;
    const voiceState: LobbyVoiceState = { ...ownVoiceState(id, by.userId, input), lobby_id: id };
    const before = state.voiceStates.get(by.userId);
    if (before && sameVoiceState(before, voiceState)) return accepted(before);
    const turn = before ? null : 'joined';
    return accepted(voiceState, [{ type: 'lobbyVoiceChanged', userId: by.userId, voiceState, turn }]);
  },
  leaveVoice: (state, { sessionId }, by) => {
    const no = foreign(state, by);
    return no ? refused(no) : accepted(null, leavingWith(state, by.userId, sessionId));
  },
  repeatVoice: (state, { sessionId }, by) => {
    const no = foreign(state, by);
    if (no) return refused(no);
    const { userId } = by;
    const here = state.voiceStates.get(userId)?.session_id === sessionId;
    return accepted(null, here ? [{ type: 'lobbyVoiceRepeated', userId }] : []);
  },
  dropVoice: (state, { userId, sessionId }, by) => {
    const no = systemOnly(by);
    return no ? refused(no) : accepted(null, leavingWith(state, userId, sessionId));
  },
};

/** Where a lobby voice state puts its user; null: nowhere any more. */
export function lobbySeat({ channel_id, user_id, session_id, ...state }: LobbyVoiceState): Seat | null {
  if (channel_id === null) return null;
  return {
    callId: channel_id,
    groupId: channel_id,
    serverId: channel_id,
    guildId: null,
    userId: user_id,
    sessionId: session_id,
    silenced: state.self_mute,
    deafened: state.self_deaf,
    mayStream: true,
    mayPrioritize: false,
    afkAfterMs: null,
  };
}
