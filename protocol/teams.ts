/** Roles in a team, from the least to the most. The owner of a team is no row of its members. */
export const TEAM_ROLES = ['read_only', 'developer', 'admin'] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];
