/** Accounts: credentials, logins, and signed-in browsers. */
export const accounts = `
CREATE TABLE accounts (user_id bigint PRIMARY KEY, data jsonb NOT NULL);

CREATE TABLE login_directory (login text PRIMARY KEY, user_id bigint NOT NULL);

CREATE TABLE sign_ins (
  user_id bigint NOT NULL, id bigint NOT NULL, seen_ms bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (user_id, id)
);
`;
