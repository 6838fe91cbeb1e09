/** Interactions, and the messages that only their invokers see, as long as their tokens may be used. */
export const interactions = `
CREATE TABLE interactions (
  owner_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (owner_id, id)
);
CREATE INDEX interactions_age ON interactions (id);

CREATE TABLE ephemeral_messages (
  owner_id bigint NOT NULL, id bigint NOT NULL, interaction_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (owner_id, id)
);
CREATE INDEX ephemeral_messages_age ON ephemeral_messages (interaction_id);
`;
