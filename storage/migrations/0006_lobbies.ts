/** Filled by its owner. */
export const lobbies = `
SELECT 1;
`;
