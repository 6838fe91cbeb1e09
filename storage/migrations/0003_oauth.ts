/** Filled by its owner. */
export const oauth = `
SELECT 1;
`;
