/** Events queued for applications. */
export const webhookEvents = `
CREATE TABLE webhook_events (
  application_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
`;
