import type { APIRole } from '../../protocol/objects.ts';
import { ALL_PERMISSIONS, TWO_FACTOR_PERMISSIONS } from '../../protocol/permissions.ts';
import type { By } from '../kernel/authority.ts';
import { channelPermissions, guildPermissions, outranksRole } from '../permissions/permissions.ts';
import type { Guild, GuildChannel } from './guild.ts';
import { withholds } from './mfa.ts';

/** The bits a caller holds in the guild and may use; the server itself holds all. */
export const bitsOf = (guild: Guild, by: By, nowMs: number): bigint =>
  by.system ? ALL_PERMISSIONS : usable(guild, by, guildPermissions(guild, by.userId, nowMs));

/** The bits a caller holds in a channel and may use; the server itself holds all. */
export const bitsIn = (guild: Guild, by: By, channel: GuildChannel, nowMs: number): bigint =>
  by.system ? ALL_PERMISSIONS : usable(guild, by, channelPermissions(guild, by.userId, channel, nowMs));

const usable = (guild: Guild, by: By, held: bigint): bigint =>
  withholds(guild, by) ? held & ~TWO_FACTOR_PERMISSIONS : held;

/** Whether a role is below the caller's highest. */
export const mayEditRole = (guild: Guild, by: By, role: APIRole): boolean =>
  by.system === true || outranksRole(guild, by.userId, role);
