/** Rules of auto moderation; a guild has at most ten. */
export const autoModeration = `
CREATE TABLE auto_moderation_rules (
  guild_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);
`;
