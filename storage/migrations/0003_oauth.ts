/** OAuth2 grants of users. Tokens and codes are stored as hashes only. */
export const oauth = `
CREATE TABLE oauth_grants (
  user_id bigint NOT NULL, application_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (user_id, application_id)
);
CREATE TABLE oauth_chains (
  user_id bigint NOT NULL, id bigint NOT NULL, application_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (user_id, id)
);
CREATE TABLE oauth_codes (
  user_id bigint NOT NULL, id bigint NOT NULL, application_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (user_id, id)
);
CREATE TABLE oauth_device_requests (
  id text NOT NULL PRIMARY KEY, user_code_hash text NOT NULL, expires_ms bigint NOT NULL, data jsonb NOT NULL
);
CREATE INDEX oauth_device_requests_user_code ON oauth_device_requests (user_code_hash);
CREATE INDEX oauth_device_requests_expiry ON oauth_device_requests (expires_ms);
`;
