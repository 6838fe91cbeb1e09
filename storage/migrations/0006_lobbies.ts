/** Lobbies of applications. Their messages are in `messages`, with the lobby as owner and channel. */
export const lobbies = `
-- idle_at_ms: when it ends unless somebody comes; null while somebody is there, or it is linked.
CREATE TABLE lobbies (
  id bigint PRIMARY KEY, application_id bigint NOT NULL, idle_at_ms bigint, linked boolean NOT NULL, data jsonb NOT NULL
);
CREATE INDEX lobbies_idle ON lobbies (idle_at_ms) WHERE idle_at_ms IS NOT NULL;

CREATE TABLE lobby_members (
  lobby_id bigint NOT NULL, user_id bigint NOT NULL, joined_ms bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (lobby_id, user_id)
);
CREATE TABLE user_lobbies (
  user_id bigint NOT NULL, application_id bigint NOT NULL, lobby_id bigint NOT NULL,
  PRIMARY KEY (user_id, application_id, lobby_id)
);

-- The key keeps a secret from naming two lobbies. Only keyed hashes of secrets are kept.
CREATE TABLE lobby_secrets (
  application_id bigint NOT NULL, hash text NOT NULL, lobby_id bigint NOT NULL, expires_ms bigint NOT NULL,
  PRIMARY KEY (application_id, hash)
);
CREATE INDEX lobby_secrets_lobby ON lobby_secrets (lobby_id);
CREATE INDEX lobby_secrets_expiry ON lobby_secrets (expires_ms);

-- The key keeps a channel from being linked to two lobbies.
CREATE TABLE linked_lobbies (channel_id bigint PRIMARY KEY, lobby_id bigint NOT NULL);
`;
