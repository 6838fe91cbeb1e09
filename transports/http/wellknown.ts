import { SCOPES } from '../../protocol/scopes.ts';
import { Exchange } from './exchange.ts';
import type { Installer } from './server.ts';

/**
 * The OpenID Connect discovery document, which clients read to sign users in with this server.
 *
 * @param publicUrl Base URL of this server for clients, without a trailing slash: the issuer.
 * @source https://openid.net/specs/openid-connect-discovery-1_0.html, section 3; RFC 8414, section 2; RFC 8628,
 * section 4
 */
export const discoveryDocument = (publicUrl: string): object => ({
  issuer: publicUrl,
  authorization_endpoint: `${publicUrl}/oauth2/authorize`,
  token_endpoint: `${publicUrl}/api/oauth2/token`,
  revocation_endpoint: `${publicUrl}/api/oauth2/token/revoke`,
  device_authorization_endpoint: `${publicUrl}/api/oauth2/device/authorize`,
  userinfo_endpoint: `${publicUrl}/api/oauth2/userinfo`,
  jwks_uri: `${publicUrl}/api/oauth2/keys`,
  scopes_supported: Object.keys(SCOPES),
  response_types_supported: ['code', 'token'],
  response_modes_supported: ['query', 'fragment'],
  grant_types_supported: [
    'authorization_code',
    'implicit',
    'refresh_token',
    'client_credentials',
    'urn:ietf:params:oauth:grant-type:device_code',
  ],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  code_challenge_methods_supported: ['S256'],
  claims_supported: [
    ...['iss', 'sub', 'aud', 'exp', 'iat', 'nonce', 'auth_time'],
    ...['preferred_username', 'nickname', 'picture', 'locale', 'email', 'email_verified'],
  ],
});

/** Serves the discovery document at its well-known path. */
export const wellKnownRoutes =
  (publicUrl: () => string): Installer =>
  (app, state) => {
    app.any('/.well-known/openid-configuration', (res, req) => {
      const exchange = new Exchange(res, req, state);
      if (exchange.method === 'OPTIONS') return exchange.preflight();
      exchange.answer({ status: 200, headers: {}, body: discoveryDocument(publicUrl()) });
    });
  };
