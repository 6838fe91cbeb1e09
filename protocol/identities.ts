import { keysOf } from './present.ts';
/**
 * Types of identity providers on the wire.
 *
 * @source https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json,
 * `ApplicationIdentityProviderAuthType`;
 * https://github.com/discordjs/discord-api-types/blob/main/payloads/v10/applicationIdentityProfile.ts names the fields
 * of an identity and leaves the provider types open: these are ours
 */
export const PROVIDER_TYPES = [
  'OIDC',
  'STEAM',
  'EPIC_ONLINE_SERVICES',
  'UNITY',
  'APPLE',
  'PLAYSTATION_NETWORK',
  'BOT',
] as const;
/** The provider that vouches for a player: `provider_type` of an identity. */
export type ProviderType = (typeof PROVIDER_TYPES)[number];

/** Proof types that a game may present for a player (`external_auth_type`), with the provider of each. */
const EXTERNAL_AUTH = {
  OIDC: 'OIDC',
  STEAM_SESSION_TICKET: 'STEAM',
  EPIC_ONLINE_SERVICES_ACCESS_TOKEN: 'EPIC_ONLINE_SERVICES',
  EPIC_ONLINE_SERVICES_ID_TOKEN: 'EPIC_ONLINE_SERVICES',
  UNITY_SERVICES_ID_TOKEN: 'UNITY',
  APPLE_ID_TOKEN: 'APPLE',
  PLAYSTATION_NETWORK_ID_TOKEN: 'PLAYSTATION_NETWORK',
  DISCORD_BOT_ISSUED_ACCESS_TOKEN: 'BOT',
} as const satisfies Record<string, ProviderType>;
export type ExternalAuthType = keyof typeof EXTERNAL_AUTH;

export const EXTERNAL_AUTH_TYPES = keysOf(EXTERNAL_AUTH);

export const IDENTITY_LIMITS = {
  external_user_id_characters_max: 1024,
  external_auth_token_characters_max: 10_240,
  /** Display names of new accounts. */
  name_characters_max: 32,
} as const;

/**
 * In `public_flags` and `flags` of a provisional account.
 *
 * @source https://docs.discord.food/resources/user#user-flags
 */
export const PROVISIONAL_ACCOUNT_FLAG = 1 << 23;

/** An identity as the wire shows it; `provider_id` is omitted without one. */
export const identityObject = (identity: {
  readonly providerType: ProviderType;
  readonly providerId: string | null;
  readonly providerIssuedUserId: string;
}): object => ({
  provider_type: identity.providerType,
  ...(identity.providerId ? { provider_id: identity.providerId } : {}),
  provider_issued_user_id: identity.providerIssuedUserId,
});
