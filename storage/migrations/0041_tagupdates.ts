/**
 * Guild tags that their users do not show yet. `user_id` is 0 for a change of the tag, or the user who has left the guild. `seq`
 * grows with each change, so that work for an older one does not count as done.
 */
export const tagUpdates = `
CREATE TABLE tag_updates (
  guild_id bigint NOT NULL, user_id bigint NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX tag_updates_seq ON tag_updates (seq);
`;
