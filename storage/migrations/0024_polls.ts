/** Votes of polls, how many each answer has, and the polls that are still to be ended by the clock. */
export const polls = `
CREATE TABLE poll_votes (
  owner_id bigint NOT NULL, message_id bigint NOT NULL, answer_id integer NOT NULL, user_id bigint NOT NULL,
  PRIMARY KEY (owner_id, message_id, answer_id, user_id)
);
CREATE INDEX poll_votes_user ON poll_votes (owner_id, message_id, user_id);

CREATE TABLE poll_counts (
  owner_id bigint NOT NULL, message_id bigint NOT NULL, answer_id integer NOT NULL, count integer NOT NULL,
  PRIMARY KEY (owner_id, message_id, answer_id)
);

CREATE TABLE poll_deadlines (
  owner_id bigint NOT NULL, message_id bigint NOT NULL, channel_id bigint NOT NULL, ends_ms bigint NOT NULL,
  PRIMARY KEY (owner_id, message_id)
);
CREATE INDEX poll_deadlines_time ON poll_deadlines (ends_ms);

-- Polls of earlier versions that still run; nobody could vote in those that are over.
INSERT INTO poll_deadlines (owner_id, message_id, channel_id, ends_ms)
SELECT owner_id, id, channel_id, floor(extract(epoch FROM (data->'poll'->>'expiry')::timestamptz) * 1000)
FROM messages WHERE data ? 'poll' AND (data->'poll'->>'expiry')::timestamptz > now();
`;
