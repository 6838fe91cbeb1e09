/** Unique usernames of users; bots are identified by their ids and have no row. */
export const usernames = `
-- Keys of protocol/usernames.ts: what a name looks like. The key keeps two people from having one.
CREATE TABLE usernames (key text COLLATE "C" PRIMARY KEY, user_id bigint NOT NULL);
CREATE INDEX usernames_user ON usernames (user_id);

-- People whose name somebody else had, or who had a name of which nothing is seen. For the operator.
CREATE TABLE username_renames (user_id bigint PRIMARY KEY, earlier text NOT NULL, username text NOT NULL);
`;
