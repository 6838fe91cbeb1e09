/** Finds the teams of a person. */
export const teamsOfUser = `
CREATE INDEX teams_owner ON teams (owner_id);
CREATE INDEX team_members_user ON team_members (user_id);
`;
