/** Pointers to direct notifications in records, for users whose owner crashed before it sent them. */
export const told = `
-- Lasts as long as the records that it points into.
CREATE TABLE told_users (
  user_id bigint NOT NULL, owner_id bigint NOT NULL, n bigint NOT NULL, at_ms bigint NOT NULL,
  PRIMARY KEY (owner_id, n, user_id)
);
CREATE INDEX told_users_user ON told_users (user_id, at_ms);
CREATE INDEX told_users_age ON told_users USING brin (at_ms);
`;
