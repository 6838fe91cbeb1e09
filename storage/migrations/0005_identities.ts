/**
 * Identities of players at external providers. `key` is a digest of provider and player, since both may be too long for an
 * index. Usernames are indexed to keep those of new accounts unique.
 */
export const identities = `
CREATE TABLE identities (
  application_id bigint NOT NULL, key text NOT NULL, user_id bigint NOT NULL, external_user_id text NOT NULL,
  data jsonb NOT NULL, profile jsonb,
  PRIMARY KEY (application_id, key)
);
CREATE INDEX identities_user ON identities (user_id, application_id);

CREATE TABLE account_moves (id bigint PRIMARY KEY, data jsonb NOT NULL);

-- until_ms is null for a ban without end.
CREATE TABLE server_bans (user_id bigint PRIMARY KEY, until_ms bigint);

CREATE TABLE child_applications (child_id bigint PRIMARY KEY, parent_id bigint NOT NULL);
CREATE INDEX child_applications_parent ON child_applications (parent_id);

CREATE TABLE identity_providers (
  application_id bigint NOT NULL, type text NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, type)
);

CREATE INDEX users_by_username ON users (username_search);
`;
