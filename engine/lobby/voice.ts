import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { VoiceMember } from '../call/voicemember.ts';
import { ownVoiceState, sameVoiceState, type VoiceWish } from '../call/voicestate.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import type { LobbyState, LobbyVoiceState } from './lobby.ts';
import { everyone, gatewayMember } from './objects.ts';
import type { LobbyDispatch, LobbyOutcomeFact, LobbyTopic } from './topic.ts';

type VoiceCommands = {
  /** Adds the caller's session to the call, or changes its voice state. */
  setVoice: {
    input: VoiceWish;
    /** The resulting state. */
    value: LobbyVoiceState;
  };
  /** Removes the session from the call; does nothing when another session of the caller is in the call. */
  leaveVoice: { input: { readonly sessionId: string }; value: null };
  /** Requests the call's address again. */
  repeatVoice: { input: { readonly sessionId: string }; value: null };
  /** For the calls: the user's connection is lost. Does nothing when another session has taken over. */
  dropVoice: { input: { readonly userId: UserId; readonly sessionId: string }; value: null };
};

export const leavingVoice = ({ voiceStates }: LobbyState, userId: UserId): LobbyOutcomeFact[] => {
  const state = voiceStates.get(userId);
  if (!state) return [];
  return [{ type: 'lobbyVoiceChanged', userId, voiceState: { ...state, channel_id: null }, turn: 'left' }];
};

/** The leave, if this session is in the call. */
export const leavingWith = (state: LobbyState, userId: UserId, sessionId: string): LobbyOutcomeFact[] =>
  state.voiceStates.get(userId)?.session_id === sessionId ? leavingVoice(state, userId) : [];

export const voice: LobbyTopic<VoiceCommands, 'lobbyVoiceChanged' | 'lobbyVoiceRepeated'> = {
  commands: {
    setVoice: {
      decide: (state, input, by) => {
        const session = state.sessions.get(input.sessionId);
        if (!state.members.has(by.userId) || session?.userId !== by.userId)
          return refused(refusal('MISSING_ACCESS'));
        const { id } = state.lobby;
        const voiceState: LobbyVoiceState = { ...ownVoiceState(id, by.userId, input), lobby_id: id };
        const before = state.voiceStates.get(by.userId);
        // Repeated, as after a move of the session or of the lobby: the client may not have received the address.
        if (before && sameVoiceState(before, voiceState))
          return accepted(before, [{ type: 'lobbyVoiceRepeated', userId: by.userId }]);
        const turn = before ? null : 'joined';
        return accepted(voiceState, [{ type: 'lobbyVoiceChanged', userId: by.userId, voiceState, turn }]);
      },
    },
    leaveVoice: {
      decide: (state, { sessionId }, { userId }) => accepted(null, leavingWith(state, userId, sessionId)),
    },
    repeatVoice: {
      decide: (state, { sessionId }, by) => {
        const { userId } = by;
        const here = state.voiceStates.get(userId)?.session_id === sessionId;
        return accepted(null, here ? [{ type: 'lobbyVoiceRepeated', userId }] : []);
      },
    },
    dropVoice: {
      server: true,
      decide: (state, { userId, sessionId }, _by) => accepted(null, leavingWith(state, userId, sessionId)),
    },
  },
  facts: {
    lobbyVoiceChanged: {
      apply: (state, { userId, voiceState }) => {
        if (voiceState.channel_id === null) state.voiceStates.delete(userId);
        else state.voiceStates.set(userId, voiceState);
      },
      dispatches: (state, { userId, voiceState, turn }) => {
        const to = everyone(state);
        const voiceUpdate: LobbyDispatch = { t: 'LOBBY_VOICE_STATE_UPDATE', d: voiceState, to };
        const member = state.members.get(userId);
        if (turn === null || !member) return [voiceUpdate];
        const t = turn === 'joined' ? 'LOBBY_MEMBER_CONNECT' : 'LOBBY_MEMBER_DISCONNECT';
        return [
          voiceUpdate,
          { t, d: { member: gatewayMember(state, member), lobby_id: state.lobby.id }, to },
        ];
      },
    },
    lobbyVoiceRepeated: { durable: false, apply: () => {}, dispatches: () => [] },
  },
};

/** The voice member of a lobby voice state; null after leaving. */
export function lobbyVoiceMember({
  channel_id,
  user_id,
  session_id,
  ...state
}: LobbyVoiceState): VoiceMember | null {
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
