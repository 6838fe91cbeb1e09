/** Small pages of a guild that few guilds have, the codes of templates, and the day on which a person was last here. */
export const guildPages = `
CREATE TABLE guild_pages (
  guild_id bigint NOT NULL, page text NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, page)
);
CREATE TABLE template_directory (code text PRIMARY KEY, guild_id bigint NOT NULL);

-- Whole UTC days since 1970. People from before this table were last here on the day of the upgrade, at the latest.
CREATE TABLE seen_users (user_id bigint PRIMARY KEY, day integer NOT NULL);
INSERT INTO seen_users (user_id, day)
SELECT id, floor(extract(epoch FROM now()) / 86400)::integer FROM users WHERE data->>'bot' IS DISTINCT FROM 'true';
`;
