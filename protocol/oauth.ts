import type { Refusal } from './refusal.ts';

/**
 * Errors of the authorization server and their HTTP status.
 *
 * @source RFC 6749, sections 4.1.2.1 and 5.2; RFC 8628, section 3.5
 */
export const OAUTH_ERRORS = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  invalid_scope: 400,
  access_denied: 400,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
} as const satisfies Record<string, number>;

export type OAuthErrorName = keyof typeof OAUTH_ERRORS;

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
