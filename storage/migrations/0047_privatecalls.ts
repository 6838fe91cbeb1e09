/** Running calls of private channels. */
export const privateCalls = `
CREATE TABLE private_calls (
  channel_id bigint PRIMARY KEY,
  data jsonb NOT NULL
);
`;
