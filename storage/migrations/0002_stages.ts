/** Stage instances, at most one per stage channel. */
export const stages = `
CREATE TABLE stage_instances (
  guild_id bigint NOT NULL, channel_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, channel_id)
);
`;
