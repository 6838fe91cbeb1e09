import { Type } from 'typebox';
import { LIMITS } from '../../../protocol/limits.ts';
import { idOf, Nullish, Snowflake, sessionOpcode } from './opcode.ts';

const LobbyVoiceStates = Type.Array(
  Type.Object({
    lobby_id: Snowflake,
    self_mute: Nullish(Type.Boolean()),
    self_deaf: Nullish(Type.Boolean()),
    self_video: Nullish(Type.Boolean()),
  }),
  { maxItems: LIMITS.lobbies_per_user_max },
);

/** Op 17. The list names all lobbies whose calls the session is in; it leaves the call of any other lobby. */
export const lobbyVoiceStates = sessionOpcode(LobbyVoiceStates, (session, d) => {
  session.ask({
    name: 'lobbyVoice',
    input: d.map((state) => ({
      lobbyId: idOf(state.lobby_id),
      selfMute: state.self_mute ?? false,
      selfDeaf: state.self_deaf ?? false,
      selfVideo: state.self_video ?? false,
    })),
  });
  return true;
});
