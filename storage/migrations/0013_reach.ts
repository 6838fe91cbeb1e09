/** Permission to send direct messages: users' settings, and who has written in a private channel before. */
export const reach = `
CREATE TABLE user_settings (user_id bigint PRIMARY KEY, data jsonb NOT NULL);

ALTER TABLE private_channel_members ADD COLUMN has_written boolean NOT NULL DEFAULT false;
UPDATE private_channel_members p SET has_written = true
  WHERE EXISTS (SELECT 1 FROM messages m WHERE m.owner_id = p.channel_id AND m.author_id = p.user_id);
`;
