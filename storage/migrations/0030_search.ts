/**
 * Search terms of messages of guilds: the words of their text, and terms for everything else. Null for messages of earlier
 * versions, which are indexed in the background.
 */
export const search = `
ALTER TABLE messages ADD COLUMN search tsvector;
CREATE INDEX messages_search ON messages USING gin (search);
CREATE INDEX messages_unsearched ON messages (owner_id, channel_id, id) WHERE search IS NULL;
`;
