import { Type } from 'typebox';
import { idOf, Snowflake, sessionOpcode } from './opcode.ts';

const LobbyVoiceServerPing = Type.Object({ lobby_id: Snowflake });

/** Op 42. Answered with LOBBY_VOICE_SERVER_UPDATE if the session is in that lobby's call and has not connected to it. */
export const lobbyVoiceServerPing = sessionOpcode(LobbyVoiceServerPing, (session, d) => {
  session.ask({ name: 'lobbyVoiceServer', input: idOf(d.lobby_id) });
  return true;
});
