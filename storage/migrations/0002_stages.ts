/** What is on in the stage channels; a channel has one at most. */
export const stages = `
CREATE TABLE stage_instances (
  guild_id bigint NOT NULL, channel_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, channel_id)
);
`;
