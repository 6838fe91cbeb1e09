import type { AppCommand, CommandPermissions, Creates } from '../../engine/appcommand/appcommand.ts';
import type { Team } from '../../engine/application/teams.ts';
import type { WebhookEvent } from '../../engine/application/webhookevents.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, CommandId, GuildId, TeamId, UserId } from '../../protocol/ids.ts';

export interface ApplicationStore {
  get(id: ApplicationId): Promise<Application | null>;
  byBot(botId: UserId): Promise<Application | null>;
  list(): Promise<Application[]>;
  /** Applications with ids above `after`, ascending. */
  page(after: ApplicationId | null, limit: number): Promise<Application[]>;
  /** Applications whose bots are members of the guild, oldest first. */
  inGuild(guildId: GuildId, limit: number): Promise<Application[]>;
  /** SHA-256 of the client secret, hexadecimal; null for an unknown application. */
  secretHash(id: ApplicationId): Promise<string | null>;
  /** Ed25519 private key, PKCS#8 DER in base64; null for an unknown application. */
  signingKey(id: ApplicationId): Promise<string | null>;
}

export interface TeamStore {
  get(id: TeamId): Promise<Team | null>;
  list(): Promise<Team[]>;
  /** Teams that a person owns, is a member of, or is invited to; oldest first. */
  ofUser(userId: UserId, limit: number): Promise<Team[]>;
  /** Applications of the team, oldest first. */
  applications(id: TeamId): Promise<Application[]>;
}

export interface AppCommandStore {
  /** Commands of a guild, or the global ones for null, oldest first. */
  list(applicationId: ApplicationId, guildId: GuildId | null): Promise<AppCommand[]>;
  get(applicationId: ApplicationId, commandId: CommandId): Promise<AppCommand | null>;
  /** Creations in the latest period of a scope; null before the first. */
  creates(applicationId: ApplicationId, guildId: GuildId | null): Promise<Creates | null>;
  /** Global commands of several applications, and with a guild those of the guild, oldest first. */
  shown(applicationIds: readonly ApplicationId[], guildId: GuildId | null): Promise<AppCommand[]>;
  /** Overwrites of several applications in a guild. */
  permissionsIn(applicationIds: readonly ApplicationId[], guildId: GuildId): Promise<CommandPermissions[]>;
  /** Overwrites of all commands in a guild, and those of the application itself. */
  permissions(applicationId: ApplicationId, guildId: GuildId): Promise<CommandPermissions[]>;
}

export interface WebhookEventStore {
  /** Queued events, oldest first. */
  pending(applicationId: ApplicationId, limit: number): Promise<WebhookEvent[]>;
  /** Number of queued events of all applications, counted up to `max`. */
  count(max: number): Promise<number>;
  /** Deletes events that were sent. */
  drop(applicationId: ApplicationId, upToId: string): Promise<void>;
  /** Applications with queued events, by ascending id, those behind `after`. */
  waiting(after: ApplicationId | null, limit: number): Promise<ApplicationId[]>;
  /** Deletes events with an id below `beforeId`. */
  expire(beforeId: string): Promise<void>;
}
