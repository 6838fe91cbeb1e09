/** Scheduled events of guilds, and what users answered to them. */
export const scheduledEvents = `
CREATE TABLE scheduled_events (
  guild_id bigint NOT NULL, id bigint NOT NULL, due_ms bigint, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);
CREATE INDEX scheduled_events_due ON scheduled_events (due_ms) WHERE due_ms IS NOT NULL;

-- exception_id is 0 for an answer to the whole event.
CREATE TABLE scheduled_event_users (
  guild_id bigint NOT NULL, event_id bigint NOT NULL, exception_id bigint NOT NULL, user_id bigint NOT NULL,
  response smallint NOT NULL,
  PRIMARY KEY (guild_id, event_id, exception_id, user_id)
);
`;
