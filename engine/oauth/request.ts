import { INSTALLATION } from '../../protocol/appcommands.ts';
import { type GuildId, isGuildId } from '../../protocol/ids.ts';
import { type AUTHORIZE_PARAMETERS, oauthRefusal } from '../../protocol/oauth.ts';
import type { OAuthErrorName } from '../../protocol/oautherrors.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { Application } from '../user/facts.ts';
import { challengeOf } from './pkce.ts';
import { answeredAt, isCustomScheme, matchRedirect } from './redirects.ts';
import { PLACING, readScopes } from './scopes.ts';

/** The raw parameters of an authorization URL; absent ones are null. Their lengths are already bounded. */
export type AuthorizeQuery = Readonly<Record<(typeof AUTHORIZE_PARAMETERS)[number], string | null>>;

/** A valid request for a user's consent. */
export interface AuthorizeRequest {
  readonly application: Application;
  /** Null for a pure bot installation, which has no response. */
  readonly responseType: 'code' | 'token' | null;
  /** As requested. */
  readonly scopes: readonly Scope[];
  /** Target of the response; null when no response is requested. */
  readonly redirectUri: string | null;
  /** Whether the request named the redirect; the token request must then name it too. */
  readonly redirectNamed: boolean;
  readonly state: string | null;
  /** `none` does not ask a user again who agreed before. */
  readonly prompt: 'consent' | 'none';
  readonly nonce: string | null;
  readonly challenge: string | null;
  /** Installed to a guild (0) or for the user (1). */
  readonly integrationType: 0 | 1;
  readonly permissions: bigint;
  readonly guildId: GuildId | null;
  readonly guildFixed: boolean;
}

type ReadRequest =
  | { readonly kind: 'request'; readonly request: AuthorizeRequest }
  /** Shown to the user: the link's author is not trusted, so nothing is redirected. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Reported to the application at its own redirect. */
  | { readonly kind: 'redirect'; readonly location: string };

const FOREIGN_REDIRECT = invalidField(
  ['redirect_uri'],
  'REDIRECT_URI_INVALID',
  'The redirect is not one of the application.',
);
const GUILD_INSTALL = String(INSTALLATION.GUILD);
const USER_INSTALL = String(INSTALLATION.USER);
const PERMISSIONS = /^\d{1,20}$/;
const PERMISSIONS_MAX = (1n << 64n) - 1n;

const refused = (no: Refusal): ReadRequest => ({ kind: 'refused', refusal: no });

/** The redirect that reports an error to the application; the error itself without a redirect. */
export function failed(
  to: {
    readonly redirectUri: string | null;
    readonly responseType: string | null;
    readonly state: string | null;
  },
  error: OAuthErrorName,
  description: string,
): Exclude<ReadRequest, { kind: 'request' }> {
  if (to.redirectUri === null) return { kind: 'refused', refusal: oauthRefusal(error, description) };
  const where = to.responseType === 'token' ? 'fragment' : 'query';
  const values = { error, error_description: description, state: to.state };
  return { kind: 'redirect', location: answeredAt(to.redirectUri, where, values) };
}

interface InstallParams {
  readonly scopes?: readonly string[];
  readonly permissions?: string;
}
type InstallConfig = Readonly<Record<string, { readonly oauth2_install_params?: InstallParams } | null>>;

/** Where, with which scopes and with which permissions a link without scopes adds the application. */
interface InstallLink {
  readonly integrationType: string;
  readonly scope: string;
  readonly permissions: string;
}

/**
 * The installation that an application has configured, for a link without scopes. A link that does not name the place
 * adds the application to a guild, or to the account when only that is configured.
 *
 * @source https://docs.discord.com/developers/resources/application#application-object-application-integration-types
 */
function installLink(application: Application, asked: string | null): InstallLink | null {
  const config = (application.integration_types_config ?? {}) as InstallConfig;
  const integrationType =
    asked ?? (config[GUILD_INSTALL] || !config[USER_INSTALL] ? GUILD_INSTALL : USER_INSTALL);
  const older =
    integrationType === GUILD_INSTALL ? (application.install_params as InstallParams | null) : null;
  const params = config[integrationType]?.oauth2_install_params ?? older;
  if (!params?.scopes?.length) return null;
  return { integrationType, scope: params.scopes.join(' '), permissions: params.permissions ?? '0' };
}

/**
 * Reads an authorization request. Client and redirect are checked first: until both are valid, nothing is redirected.
 *
 * @source RFC 6749, sections 4.1.1 to 4.2.2; https://docs.discord.com/developers/topics/oauth2
 */
export function readRequest(query: AuthorizeQuery, application: Application | null): ReadRequest {
  if (!application) return refused(refusal('UNKNOWN_APPLICATION'));
  const { response_type: asked, state } = query;
  const defaults = query.scope === null ? installLink(application, query.integration_type) : null;
  const scope = query.scope ?? defaults?.scope ?? '';
  const isPlain = asked === null && scope.split(' ').every((name) => PLACING.has(name as Scope));
  const named = query.redirect_uri;
  const redirectUri = isPlain && named === null ? null : matchRedirect(application.redirect_uris, named);
  if (redirectUri === null && (named !== null || !isPlain)) return refused(FOREIGN_REDIRECT);
  const to = { redirectUri, responseType: asked, state };
  if (!isPlain && asked !== 'code' && asked !== 'token') {
    if (asked === null) return failed(to, 'invalid_request', 'A response_type is required.');
    return failed(to, 'unsupported_response_type', 'The response_type is "code" or "token".');
  }
  const scopes = readScopes(scope, application, 'consent');
  if (!scopes.ok) return failed(to, 'invalid_scope', scopes.refusal.message);
  return completed(query, application, { ...to, scopes: scopes.scopes, defaults });
}

interface Begun {
  readonly redirectUri: string | null;
  readonly responseType: string | null;
  readonly state: string | null;
  readonly scopes: readonly Scope[];
  readonly defaults: InstallLink | null;
}

function completed(query: AuthorizeQuery, application: Application, begun: Begun): ReadRequest {
  const { redirectUri, scopes } = begun;
  const responseType = begun.responseType as 'code' | 'token' | null;
  const wrong = (description: string) => failed(begun, 'invalid_request', description);
  const challenge = challengeOf(query.code_challenge, query.code_challenge_method);
  if (challenge === 'wrong') return wrong('A code_challenge comes with the code_challenge_method "S256".');
  if (challenge !== null && responseType !== 'code') return wrong('A code_challenge is for codes.');
  if (redirectUri !== null && isCustomScheme(redirectUri) && challenge === null && responseType !== null)
    return wrong('A redirect to a scheme of its own needs a code_challenge.');
  if (responseType === 'token' && scopes.includes('role_connections.write'))
    return failed(begun, 'invalid_scope', 'The scope "role_connections.write" is given by code only.');
  if (scopes.includes('bot') && application.bot_require_code_grant && responseType !== 'code')
    return wrong('The application adds its bot by code only.');
  const integrationType = query.integration_type ?? begun.defaults?.integrationType ?? GUILD_INSTALL;
  if (integrationType !== GUILD_INSTALL && integrationType !== USER_INSTALL)
    return wrong('The integration_type is 0 or 1.');
  if (integrationType === USER_INSTALL && scopes.includes('bot'))
    return wrong('A bot is installed to a server.');
  const permissions = query.permissions ?? begun.defaults?.permissions ?? '0';
  if (!PERMISSIONS.test(permissions) || BigInt(permissions) > PERMISSIONS_MAX)
    return wrong('The permissions are a decimal number.');
  const guildId = query.guild_id;
  if (guildId !== null && !isGuildId(guildId)) return wrong('The guild_id is not an id.');
  if (query.prompt !== null && query.prompt !== 'none' && query.prompt !== 'consent')
    return wrong('The prompt is "none" or "consent".');
  return {
    kind: 'request',
    request: {
      application,
      responseType,
      scopes,
      redirectUri,
      redirectNamed: query.redirect_uri !== null,
      state: query.state,
      prompt: query.prompt ?? 'consent',
      nonce: query.nonce,
      challenge,
      integrationType: integrationType === USER_INSTALL ? INSTALLATION.USER : INSTALLATION.GUILD,
      permissions: BigInt(permissions),
      guildId,
      guildFixed: query.disable_guild_select === 'true',
    },
  };
}
