import { OAUTH_ERRORS, type OAuthErrorName } from './oautherrors.ts';
import type { Refusal } from './refusal.ts';

/** A refusal in the format of the RFC: `{error, error_description}`. */
export const oauthRefusal = (error: OAuthErrorName, description: string): Refusal => ({
  status: OAUTH_ERRORS[error],
  code: 0,
  message: description,
  oauthError: error,
});

/**
 * The only refusal of an invalid refresh token, whatever the cause.
 *
 * @source https://docs.discord.com/developers/discord-social-sdk/development-guides/account-linking-with-discord,
 * "When Refresh Fails"
 */
export const BAD_REFRESH_TOKEN = oauthRefusal('invalid_grant', 'Invalid "refresh_token" in request');

/**
 * Parameters of an authorization URL.
 *
 * @source https://docs.discord.com/developers/topics/oauth2#authorization-code-grant; RFC 7636;
 * https://openid.net/specs/openid-connect-core-1_0.html
 */
export const AUTHORIZE_PARAMETERS = [
  'client_id',
  'response_type',
  'scope',
  'redirect_uri',
  'state',
  'prompt',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'integration_type',
  'permissions',
  'guild_id',
  'disable_guild_select',
] as const;
