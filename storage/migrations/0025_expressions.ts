/**
 * Emoji, stickers and sounds of guilds, and emoji of applications. The directory says whose an id is: a guild's, or
 * for the kind `application emoji` an application's.
 */
export const expressions = `
CREATE TABLE guild_expressions (
  guild_id bigint NOT NULL, id bigint NOT NULL, kind text NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);
CREATE TABLE application_emojis (
  application_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
CREATE TABLE expression_directory (id bigint PRIMARY KEY, kind text NOT NULL, owner_id bigint NOT NULL);
`;
