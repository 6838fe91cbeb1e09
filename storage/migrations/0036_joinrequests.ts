/** Users' requests to become full members, one of a user in a guild. */
export const joinRequests = `
CREATE TABLE join_requests (
  guild_id bigint NOT NULL,
  user_id bigint NOT NULL,
  id bigint NOT NULL,
  status text NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX join_requests_listing ON join_requests (guild_id, status, id);
CREATE INDEX members_pending ON members (guild_id, user_id) WHERE data->>'pending' = 'true';
`;
