import type { APIRole } from '../../protocol/objects.ts';
import { ALL_PERMISSIONS } from '../../protocol/permissions.ts';
import type { By } from '../kernel/authority.ts';
import { channelPermissions, guildPermissions, outranksRole } from '../permissions/permissions.ts';
import type { Guild, GuildChannel } from './guild.ts';

/** The bits a caller holds in the guild; the server itself holds all. */
export const bitsOf = (guild: Guild, by: By, nowMs: number): bigint =>
  by.system ? ALL_PERMISSIONS : guildPermissions(guild, by.userId, nowMs);

/** The bits a caller holds in a channel; the server itself holds all. */
export const bitsIn = (guild: Guild, by: By, channel: GuildChannel, nowMs: number): bigint =>
  by.system ? ALL_PERMISSIONS : channelPermissions(guild, by.userId, channel, nowMs);

/** Whether a role is below the caller's highest. */
export const mayEditRole = (guild: Guild, by: By, role: APIRole): boolean =>
  by.system === true || outranksRole(guild, by.userId, role);
