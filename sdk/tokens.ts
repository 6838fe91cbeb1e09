import { AuthenticationExternalAuthType, ErrorType } from './enums.ts';
import type { Http, Query } from './http.ts';
import type { Log } from './log.ts';
import { ClientError, invalid } from './result.ts';
import { numberOf, textOf } from './store/read.ts';
import { isJson } from './voice/wire.ts';

/** Tokens of a response. The library does not persist them; the application does. */
export interface TokenExchange {
  readonly accessToken: string;
  /** Empty when the server issued none. */
  readonly refreshToken: string;
  readonly tokenType: string;
  /** Seconds. */
  readonly expiresIn: number;
  /** Separated by spaces. */
  readonly scopes: string;
  /** A signed JWT; empty when the server issued none. */
  readonly idToken: string;
}

/** Provider that authenticates a player, with the player's ticket or token. */
interface ExternalAuth {
  readonly type: AuthenticationExternalAuthType;
  readonly token: string;
}

/** Wire names of the providers. */
const EXTERNAL_AUTH_WORDS: Readonly<Record<AuthenticationExternalAuthType, string>> = {
  [AuthenticationExternalAuthType.OIDC]: 'OIDC',
  [AuthenticationExternalAuthType.EpicOnlineServicesAccessToken]: 'EPIC_ONLINE_SERVICES_ACCESS_TOKEN',
  [AuthenticationExternalAuthType.EpicOnlineServicesIdToken]: 'EPIC_ONLINE_SERVICES_ID_TOKEN',
  [AuthenticationExternalAuthType.SteamSessionTicket]: 'STEAM_SESSION_TICKET',
  [AuthenticationExternalAuthType.UnityServicesIdToken]: 'UNITY_SERVICES_ID_TOKEN',
  [AuthenticationExternalAuthType.BotIssuedAccessToken]: 'DISCORD_BOT_ISSUED_ACCESS_TOKEN',
  [AuthenticationExternalAuthType.AppleIdToken]: 'APPLE_ID_TOKEN',
  [AuthenticationExternalAuthType.PlayStationNetworkIdToken]: 'PLAYSTATION_NETWORK_ID_TOKEN',
};

/** @throws ClientError of type ValidationError. */
export function externalAuthFields({ type, token }: ExternalAuth): {
  external_auth_type: string;
  external_auth_token: string;
} {
  const word = EXTERNAL_AUTH_WORDS[type];
  if (word === undefined) throw invalid('type is not one of AuthenticationExternalAuthType.');
  const value = checkToken('The external token', token, 'pass the one of the other service');
  return { external_auth_type: word, external_auth_token: value };
}

const TOKEN_CHARS_MAX = 10_240;

/**
 * Validates a token. The error never contains it.
 *
 * @param advice What to pass, for the error about an empty token.
 * @throws ClientError of type ValidationError.
 */
export function checkToken(name: string, token: string, advice = 'pass a token'): string {
  // Callers without types may pass undefined, for instance an unset environment variable.
  if (typeof token !== 'string' || token === '') throw invalid(`${name} is empty: ${advice}.`);
  if (token.length > TOKEN_CHARS_MAX)
    throw invalid(`${name} has ${token.length} characters; at most ${TOKEN_CHARS_MAX} are allowed.`);
  return token;
}

/** @throws ClientError when the data is no token response. */
function readTokens(answer: unknown, log: Log): TokenExchange {
  const token = isJson(answer) ? textOf(answer, 'access_token') : null;
  if (!isJson(answer) || token === null || token === '')
    throw new ClientError(ErrorType.HTTPError, 'The server returned no token.', { status: 200 });
  const tokens = {
    accessToken: token,
    refreshToken: textOf(answer, 'refresh_token') ?? '',
    tokenType: textOf(answer, 'token_type') ?? 'Bearer',
    expiresIn: numberOf(answer, 'expires_in') ?? 0,
    scopes: textOf(answer, 'scope') ?? '',
    idToken: textOf(answer, 'id_token') ?? '',
  };
  log.keepSecret(tokens.accessToken, tokens.refreshToken, tokens.idToken);
  return tokens;
}

/** The token routes. Requests and responses are redacted from the log. */
export class TokenRoutes {
  readonly #http: Http;
  readonly #log: Log;

  constructor({ http, log }: { http: Http; log: Log }) {
    this.#http = http;
    this.#log = log;
  }

  async grant(grantType: string, fields: Query, signal?: AbortSignal): Promise<TokenExchange> {
    this.#hide(fields);
    const form = { grant_type: grantType, ...fields };
    const answer = await this.#http.call({
      method: 'POST',
      path: '/oauth2/token',
      as: 'nobody',
      form,
      ...(signal !== undefined && { signal }),
    });
    return readTokens(answer, this.#log);
  }

  async revoke(applicationId: string, token: string): Promise<void> {
    this.#log.keepSecret(token);
    const form = { client_id: applicationId, token };
    await this.#http.call({ method: 'POST', path: '/oauth2/token/revoke', as: 'nobody', form });
  }

  /** Provisional accounts. */
  async partner(path: string, body: Readonly<Record<string, string>>): Promise<unknown> {
    this.#hide(body);
    return this.#http.call({ method: 'POST', path, as: 'nobody', body });
  }

  async partnerTokens(path: string, body: Readonly<Record<string, string>>): Promise<TokenExchange> {
    return readTokens(await this.partner(path, body), this.#log);
  }

  async device(clientId: string, scopes: string): Promise<DeviceCode> {
    const form = { client_id: clientId, scope: scopes };
    const d = await this.#http.call({ method: 'POST', path: '/oauth2/device/authorize', as: 'nobody', form });
    const deviceCode = isJson(d) ? textOf(d, 'device_code') : null;
    const userCode = isJson(d) ? textOf(d, 'user_code') : null;
    if (!isJson(d) || deviceCode === null || userCode === null)
      throw new ClientError(ErrorType.HTTPError, 'The server returned no device code.', { status: 200 });
    this.#log.keepSecret(deviceCode, userCode);
    return {
      deviceCode,
      userCode,
      verificationUri: textOf(d, 'verification_uri') ?? '',
      verificationUriComplete: textOf(d, 'verification_uri_complete') ?? '',
      expiresIn: Math.min(Math.max(numberOf(d, 'expires_in') ?? 300, 1), DEVICE_SEC_MAX),
      interval: Math.min(Math.max(numberOf(d, 'interval') ?? 5, 1), 60),
    };
  }

  #hide(fields: Query): void {
    for (const [name, value] of Object.entries(fields))
      if (/token|code|secret/.test(name) && typeof value === 'string' && name !== 'external_auth_type')
        this.#log.keepSecret(value);
  }
}

const DEVICE_SEC_MAX = 3_600;

export interface DeviceCode {
  readonly deviceCode: string;
  /** The code that the person types. */
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly interval: number;
}
