/** Running activities, one of an application at a location. */
export const activities = `
CREATE TABLE activity_instances (
  owner_id bigint NOT NULL, channel_id bigint NOT NULL, application_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (owner_id, channel_id, application_id)
);
`;
