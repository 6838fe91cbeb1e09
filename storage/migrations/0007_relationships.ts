/** Filled by its owner. */
export const relationships = `
SELECT 1;
`;
