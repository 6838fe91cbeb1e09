/** Users who left a guild. A row is deleted when its user joins again. */
export const formerMembers = `
CREATE TABLE former_members (
  guild_id bigint NOT NULL,
  user_id bigint NOT NULL,
  timed_out_until text,
  PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX former_members_user ON former_members (user_id);
`;
