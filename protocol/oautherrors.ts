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
