/** Teams, which own applications together. The owner is no row of the members. */
export const teams = `
CREATE TABLE teams (id bigint PRIMARY KEY, owner_id bigint NOT NULL, data jsonb NOT NULL);
CREATE TABLE team_members (
  team_id bigint NOT NULL, user_id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (team_id, user_id)
);
CREATE INDEX applications_by_team ON applications ((data->>'team_id')) WHERE data->>'team_id' IS NOT NULL;
`;
