/** Finds the people who show the tag of a guild. */
export const guildTags = `
CREATE INDEX users_by_tag ON users ((data->'primary_guild'->>'identity_guild_id'), id)
  WHERE data->'primary_guild'->>'identity_guild_id' IS NOT NULL;
`;
