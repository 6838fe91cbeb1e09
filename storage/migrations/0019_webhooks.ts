/** Webhooks of guilds. Tokens are in no column: they are derived from the id. */
export const webhooks = `
CREATE TABLE webhooks (
  guild_id bigint NOT NULL, id bigint NOT NULL, channel_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);
CREATE TABLE webhook_directory (id bigint PRIMARY KEY, guild_id bigint NOT NULL);
`;
