/** Published messages: who follows them, what is still to be brought to followers, and the copies that followers have. */
export const crossposts = `
ALTER TABLE webhooks ADD COLUMN source_channel_id bigint;
CREATE INDEX webhooks_source ON webhooks (source_channel_id, id) WHERE source_channel_id IS NOT NULL;

-- id grows with every change of the message: work that was done for an older one is not done.
CREATE TABLE crossposts (
  guild_id bigint NOT NULL, message_id bigint NOT NULL, channel_id bigint NOT NULL, id bigint NOT NULL,
  creates boolean NOT NULL,
  PRIMARY KEY (guild_id, message_id)
);

-- The guild is the follower's.
CREATE TABLE crosspost_copies (
  guild_id bigint NOT NULL, source_id bigint NOT NULL, webhook_id bigint NOT NULL,
  channel_id bigint NOT NULL, message_id bigint NOT NULL,
  PRIMARY KEY (guild_id, source_id, webhook_id)
);
CREATE INDEX crosspost_copies_channel ON crosspost_copies (guild_id, channel_id);
`;
