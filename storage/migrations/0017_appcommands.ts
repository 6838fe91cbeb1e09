/** Commands of applications, who may use them in a guild, and how many were created in the current day of each scope. */
export const appCommands = `
-- guild_id: null for a global command.
CREATE TABLE app_commands (
  application_id bigint NOT NULL, id bigint NOT NULL, guild_id bigint, data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
CREATE INDEX app_commands_scope ON app_commands (application_id, guild_id);
CREATE INDEX app_commands_guild ON app_commands (guild_id) WHERE guild_id IS NOT NULL;

-- id: the command, or the application for all its commands without overwrites of their own.
CREATE TABLE app_command_permissions (
  application_id bigint NOT NULL, guild_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, guild_id, id)
);

-- guild_id: 0 for global commands.
CREATE TABLE app_command_creates (
  application_id bigint NOT NULL, guild_id bigint NOT NULL, start_ms bigint NOT NULL, count integer NOT NULL,
  PRIMARY KEY (application_id, guild_id)
);
`;
