/** Threads of guilds with their members. `archive_ms` orders archived threads; `due_ms` is set while one is active. */
export const threads = `
CREATE TABLE threads (
  guild_id bigint NOT NULL, id bigint NOT NULL, parent_id bigint NOT NULL, type smallint NOT NULL,
  archived boolean NOT NULL, archive_ms bigint NOT NULL, due_ms bigint,
  message_count integer NOT NULL, total_message_sent integer NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);
CREATE INDEX threads_active ON threads (guild_id) WHERE NOT archived;
CREATE INDEX threads_parent ON threads (guild_id, parent_id, archive_ms, id);
CREATE INDEX threads_due ON threads (due_ms) WHERE due_ms IS NOT NULL;

CREATE TABLE thread_members (
  guild_id bigint NOT NULL, thread_id bigint NOT NULL, user_id bigint NOT NULL,
  join_timestamp text NOT NULL, flags integer NOT NULL,
  PRIMARY KEY (guild_id, thread_id, user_id)
);
CREATE INDEX thread_members_user ON thread_members (guild_id, user_id);
`;
