/** Temporary membership: it ends with the user's last session, unless the member was given a role meanwhile. */
export const temporary = `
-- The member's joined_at, so that a membership that came later is not taken for the temporary one. Null: permanent.
ALTER TABLE user_guilds ADD COLUMN temporary_since text;
CREATE INDEX user_guilds_temporary ON user_guilds (user_id) WHERE temporary_since IS NOT NULL;
`;
