/**
 * Wire types with branded ids. `discord-api-types` types every id as a string.
 *
 * @source https://docs.discord.com/developers/resources/user, https://docs.discord.com/developers/topics/permissions
 * and https://docs.discord.com/developers/resources/voice
 */
import type * as wire from 'discord-api-types/v10';
import type { ChannelId, GuildId, RoleId, UserId } from './ids.ts';

/**
 * No flags, for the flag sets of any object: the types of a wire's flags admit every number but a literal 0.
 */
export const NO_FLAGS: number = 0;

export type APIUser = wire.APIUser & { readonly id: UserId };
export type APIGuild = wire.APIGuild & { readonly id: GuildId; readonly owner_id: UserId };
export type APIRole = wire.APIRole & { readonly id: RoleId };
export type GatewayVoiceState = wire.GatewayVoiceState & {
  readonly user_id: UserId;
  readonly channel_id: ChannelId | null;
};
