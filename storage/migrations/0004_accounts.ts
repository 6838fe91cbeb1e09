/** Filled by its owner. */
export const accounts = `
SELECT 1;
`;
