/** Voice states of the members of lobbies. */
export const lobbyVoice = `
CREATE TABLE lobby_voice_states (
  lobby_id bigint NOT NULL,
  user_id bigint NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (lobby_id, user_id)
);
`;
