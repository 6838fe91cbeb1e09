import { OAUTH_ERRORS, type OAuthErrorName } from './oautherrors.ts';
import type { Refusal } from './refusal.ts';

/** A refusal that is told in the RFC's words: `{error, error_description}`. */
export const oauthRefusal = (error: OAuthErrorName, description: string): Refusal => ({
  status: OAUTH_ERRORS[error],
  code: 0,
  message: description,
  oauthError: error,
});

/** The one thing said of a refresh token that does not count, whatever the cause. @source the platform's SDK guide */
export const BAD_REFRESH_TOKEN = oauthRefusal('invalid_grant', 'Invalid "refresh_token" in request');

/** Parameters of an authorization URL. @source the platform's "OAuth2" page; RFC 7636; OpenID Connect Core */
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
