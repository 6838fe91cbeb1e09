/** Filled by its owner. */
export const identities = `
SELECT 1;
`;
