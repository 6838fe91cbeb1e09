/**
 * Upper bounds of the ids in use, by worker number: no stored id has a later time. An existing database starts with the
 * newest id it contains.
 */
export const idMarks = `
-- ms: Unix milliseconds; the platform's epoch is the first of 2015.
CREATE TABLE id_marks (worker integer PRIMARY KEY, ms bigint NOT NULL);

INSERT INTO id_marks (worker, ms)
SELECT 0, (max(id) >> 22) + 1420070400000 FROM (
  SELECT max(id) AS id FROM guilds UNION ALL SELECT max(id) FROM roles UNION ALL SELECT max(id) FROM channels
  UNION ALL SELECT max(id) FROM messages UNION ALL SELECT max(last_message_id) FROM channel_activity
  UNION ALL SELECT max(id) FROM audit_log UNION ALL SELECT max(id) FROM users UNION ALL SELECT max(id) FROM tokens
  UNION ALL SELECT max(id) FROM applications UNION ALL SELECT max(channel_id) FROM private_channels
  UNION ALL SELECT max(id) FROM oauth_chains UNION ALL SELECT max(id) FROM oauth_codes
  UNION ALL SELECT max(id) FROM sign_ins UNION ALL SELECT max(id) FROM account_moves
  UNION ALL SELECT max(id) FROM lobbies UNION ALL SELECT max(id) FROM webhook_events
) AS newest HAVING max(id) IS NOT NULL;
`;
