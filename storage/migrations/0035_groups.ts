/** Channels of groups, each with its recipients. */
export const groups = `
CREATE TABLE group_channels (
  channel_id bigint PRIMARY KEY,
  recipient_ids bigint[] NOT NULL,
  application_id bigint,
  data jsonb NOT NULL
);
CREATE INDEX group_channels_recipients ON group_channels USING gin (recipient_ids);
CREATE INDEX group_channels_application ON group_channels (application_id) WHERE application_id IS NOT NULL;
`;
