import { Type } from 'typebox';
import { idOf, Snowflake, sessionOpcode } from './opcode.ts';

const LobbyVoiceServerPing = Type.Object({ lobby_id: Snowflake });

/** Op 42. Answered with LOBBY_VOICE_SERVER_UPDATE when the session is in that voice and has not connected to it. */
export const lobbyVoiceServerPing = sessionOpcode(LobbyVoiceServerPing, (session, d) => {
  session.ask({ name: 'lobbyVoiceServer', input: idOf(d.lobby_id) });
  return true;
});
