/** Voice states, the state of voice channels, and running calls of private channels. */
export const voice = `
CREATE TABLE voice_states (
  guild_id bigint NOT NULL,
  user_id bigint NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (guild_id, user_id)
);
CREATE TABLE voice_channels (
  guild_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  status text,
  started_ms bigint,
  PRIMARY KEY (guild_id, channel_id)
);
CREATE TABLE private_calls (
  channel_id bigint PRIMARY KEY,
  data jsonb NOT NULL
);
`;
