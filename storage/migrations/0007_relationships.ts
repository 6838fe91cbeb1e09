/** Relationships between users: one row for each side. `application_id` is 0 for those of the platform. */
export const relationships = `
CREATE TABLE relationships (
  user_id bigint NOT NULL, peer_id bigint NOT NULL, application_id bigint NOT NULL,
  type smallint NOT NULL, since_ms bigint NOT NULL, nickname text, origin_application_id bigint,
  PRIMARY KEY (user_id, peer_id, application_id)
);
-- Whoever has blocked somebody has the only row; it must be found when accounts become one.
CREATE INDEX relationships_peer ON relationships (peer_id);
-- All of a game go when it is put under a publisher.
CREATE INDEX relationships_application ON relationships (application_id) WHERE application_id <> 0;

-- Friends are asked for by name.
CREATE INDEX users_username_search ON users (username_search);

CREATE TABLE role_connections (
  user_id bigint NOT NULL, application_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (user_id, application_id)
);

CREATE TABLE role_connection_metadata (application_id bigint PRIMARY KEY, data jsonb NOT NULL);
`;
