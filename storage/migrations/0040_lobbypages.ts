/** Pages of the lobbies of one application, which the console and deletions read, need no look at those of others. */
export const lobbyPages = `
CREATE INDEX lobbies_by_application ON lobbies (application_id, id);
`;
