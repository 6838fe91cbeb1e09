import { type AuthorizationCode, type AuthorizationFields, Authorizer } from '../authorize.ts';
import { type AuthenticationExternalAuthType, AuthorizationTokenType, ErrorType, Status } from '../enums.ts';
import type { UserHandle } from '../handles.ts';
import { pause } from '../http.ts';
import { type AuthorizationCodeVerifier, createVerifier } from '../pkce.ts';
import { aborted, ClientError, invalid, networkError } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { keepUser } from '../store/people.ts';
import { idOf } from '../store/read.ts';
import {
  checkToken,
  type DeviceCode,
  externalAuthFields,
  type TokenExchange,
  TokenRoutes,
} from '../tokens.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { type Core, checkId, unexpected } from './core.ts';

export interface DeviceAuthorizationArgs {
  /** Default: the id given to `setApplicationId`. */
  readonly clientId?: string;
  readonly scopes: string;
  /** Called with the code for the person to type; without this callback the client opens the page itself. */
  readonly onCode?: (
    code: Pick<DeviceCode, 'userCode' | 'verificationUri' | 'verificationUriComplete'>,
  ) => void;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SLOW_DOWN_SEC = 5;
const DISPLAY_NAME_CHARS_MAX = 32;

/** Sign-in, tokens and provisional accounts. Grants are those of public clients. */
export class Accounts {
  readonly #core: Core;
  readonly #tokenRoutes: TokenRoutes;
  readonly #authorizer: Authorizer;
  #device: AbortController | null = null;

  constructor(core: Core) {
    this.#core = core;
    this.#tokenRoutes = new TokenRoutes(core);
    this.#authorizer = new Authorizer(core);
  }

  setApplicationId(applicationId: string): void {
    this.#core.setApplicationId(applicationId);
  }

  getApplicationId(): string {
    return this.#core.applicationIdOr();
  }

  /** Code verifier for `getToken`, with the challenge for `authorize`. */
  createAuthorizationCodeVerifier(): Promise<AuthorizationCodeVerifier> {
    return createVerifier();
  }

  /**
   * Opens the consent page and waits for the answer. In a browser, call it while a click is handled.
   *
   * @throws ClientError: AuthorizationFailed when the person declines, Aborted when cancelled, NetworkError after
   *   ten minutes.
   */
  async authorize(args: AuthorizationFields): Promise<AuthorizationCode> {
    if (args.scopes.trim() === '') throw invalid('scopes: request at least one.');
    return this.#authorizer.ask(args, this.#core.applicationIdOr(args.clientId));
  }

  /** Passes a redirect URL of a custom scheme. @returns whether it answers the open `authorize`. */
  completeAuthorize(address: string): boolean {
    return this.#authorizer.complete(address);
  }

  abortAuthorize(): void {
    this.#authorizer.abort();
  }

  /** Exchanges the code of `authorize` for tokens. */
  async getToken(
    applicationId: string,
    code: string,
    codeVerifier: string,
    redirectUri: string,
  ): Promise<TokenExchange> {
    return this.#tokenRoutes.grant(
      'authorization_code',
      byCode(applicationId, code, codeVerifier, redirectUri),
    );
  }

  /** Like `getToken`, and merges the provisional account into the authorized account. */
  async getTokenFromProvisionalMerge(
    applicationId: string,
    code: string,
    codeVerifier: string,
    redirectUri: string,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<TokenExchange> {
    return this.#tokenRoutes.grant('authorization_code', {
      ...byCode(applicationId, code, codeVerifier, redirectUri),
      ...external(externalAuthType, externalAuthToken),
    });
  }

  /** Device flow, for devices without a browser: the person answers on another device. */
  getTokenFromDevice(args: DeviceAuthorizationArgs): Promise<TokenExchange> {
    return this.#fromDevice(args, {});
  }

  async getTokenFromDeviceProvisionalMerge(
    args: DeviceAuthorizationArgs,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<TokenExchange> {
    return this.#fromDevice(args, external(externalAuthType, externalAuthToken));
  }

  abortGetTokenFromDevice(): void {
    this.#device?.abort();
  }

  /** Opens the page where the person types the device code. */
  openAuthorizeDeviceScreen(_clientId: string, userCode: string): void {
    this.#core.host.openUrl(`${this.#core.webBase}/activate?user_code=${encodeURIComponent(userCode)}`);
  }

  /** Cancels the device flow; an open page closes by itself. */
  closeAuthorizeDeviceScreen(): void {
    this.#device?.abort();
  }

  setAuthorizeDeviceScreenClosedCallback(callback: () => void): Disposer {
    return this.#core.signals.authorizeDeviceScreenClosed.set(callback);
  }

  /** Exchanges a refresh token for a new pair; the old access and refresh tokens are revoked. */
  async refreshToken(applicationId: string, refreshToken: string): Promise<TokenExchange> {
    return this.#tokenRoutes.grant('refresh_token', {
      client_id: checkId('applicationId', applicationId),
      refresh_token: checkToken('refreshToken', refreshToken, 'pass the one that came with the access token'),
    });
  }

  /** Revokes the token and its whole authorization. */
  async revokeToken(applicationId: string, value: string): Promise<void> {
    return this.#tokenRoutes.revoke(
      checkId('applicationId', applicationId),
      checkToken('The token to revoke', value),
    );
  }

  /** Exchanges a parent application's token for one of a child application. It expires with the parent's token. */
  async exchangeChildToken(
    parentApplicationToken: string,
    childApplicationId: string,
  ): Promise<TokenExchange> {
    return this.#tokenRoutes.partnerTokens('/partner-sdk/child-token', {
      parent_access_token: checkToken('parentApplicationToken', parentApplicationToken),
      child_application_id: checkId('childApplicationId', childApplicationId),
    });
  }

  /** Signs in a player without an account, authenticated by an external provider. */
  async getProvisionalToken(
    applicationId: string,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<TokenExchange> {
    return this.#tokenRoutes.partnerTokens('/partner-sdk/token', {
      client_id: checkId('applicationId', applicationId),
      ...external(externalAuthType, externalAuthToken),
    });
  }

  /** Unlinks the account from the player, who keeps a provisional account. */
  async unmergeIntoProvisionalAccount(
    applicationId: string,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<void> {
    const fields = external(externalAuthType, externalAuthToken);
    const body = { client_id: checkId('applicationId', applicationId), ...fields };
    await this.#tokenRoutes.partner('/partner-sdk/provisional-accounts/unmerge', body);
  }

  /** Sets the display name of a provisional account: 1 to 32 characters. */
  async updateProvisionalAccountDisplayName(name: string): Promise<void> {
    const chars = [...name].length;
    if (chars < 1 || chars > DISPLAY_NAME_CHARS_MAX)
      throw invalid('A display name must have 1 to 32 characters.');
    await this.#core.http.call({ method: 'PATCH', path: '/users/@me/account', body: { global_name: name } });
  }

  /**
   * Sets the client's token. While connected, the client reconnects with it, and the promise resolves when that is
   * done.
   */
  async updateToken(tokenType: AuthorizationTokenType, value: string): Promise<void> {
    this.#core.log.keepSecret(value);
    this.#core.token.value = { authorization: authorizationOf(tokenType, value), token: value };
    if (this.#core.session.status === Status.Disconnected) return;
    this.#core.session.renew();
    await this.#core.session.whenReady();
  }

  isAuthenticated(): boolean {
    return this.#core.token.value !== null;
  }

  /** Called once when a token expires; not when it is revoked. */
  setTokenExpirationCallback(callback: () => void): Disposer {
    return this.#core.signals.tokenExpiration.set(callback);
  }

  /** Looks up the user of a token. Needs no connection, and does not set the client's token. */
  async fetchCurrentUser(tokenType: AuthorizationTokenType, value: string): Promise<UserHandle> {
    this.#core.log.keepSecret(value);
    const as = { token: authorizationOf(tokenType, value) };
    const d = await this.#core.http.call({ method: 'GET', path: '/users/@me', as });
    const id = isJson(d) ? idOf(d, 'id') : null;
    if (!isJson(d) || id === null) throw unexpected('user');
    keepUser(this.#core.state, d);
    return this.#core.handles.user(id)!;
  }

  async #fromDevice(args: DeviceAuthorizationArgs, more: Record<string, string>): Promise<TokenExchange> {
    const { applicationIdOr, host, signals } = this.#core;
    this.#device?.abort();
    const own = new AbortController();
    this.#device = own;
    const clientId = applicationIdOr(args.clientId);
    try {
      const code = await this.#tokenRoutes.device(clientId, args.scopes);
      if (args.onCode !== undefined) args.onCode(code);
      else host.openUrl(code.verificationUriComplete || code.verificationUri);
      return await pollDevice(this.#tokenRoutes, { clientId, code, more, signal: own.signal });
    } catch (error) {
      throw own.signal.aborted ? aborted('The sign-in was aborted.') : error;
    } finally {
      if (this.#device === own) this.#device = null;
      signals.authorizeDeviceScreenClosed.emit();
    }
  }
}

const external = (type: AuthenticationExternalAuthType, token: string) => externalAuthFields({ type, token });

const byCode = (applicationId: string, code: string, codeVerifier: string, redirectUri: string) => ({
  client_id: checkId('applicationId', applicationId),
  code: checkToken('code', code, 'pass the one that authorize returned'),
  code_verifier: codeVerifier,
  redirect_uri: redirectUri,
});

/** @throws ClientError when the text is not valid in an Authorization header. */
function authorizationOf(type: AuthorizationTokenType, token: string): string {
  const what = 'pass the access token of the player, from getToken, getProvisionalToken or your own server';
  checkToken('The token', token, what);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw invalid(
      'The token has a space, a line break or a character that is not of ASCII; pass it alone and whole.',
    );
  return type === AuthorizationTokenType.Bearer ? `Bearer ${token}` : token;
}

interface DevicePoll {
  readonly clientId: string;
  readonly code: DeviceCode;
  readonly more: Record<string, string>;
  readonly signal: AbortSignal;
}

/** Polls the token route at the server's interval until the person answers. @source RFC 8628, section 3.5 */
async function pollDevice(
  tokenRoutes: TokenRoutes,
  { clientId, code, more, signal }: DevicePoll,
): Promise<TokenExchange> {
  const endMs = Date.now() + code.expiresIn * 1000;
  let everyMs = code.interval * 1000;
  while (Date.now() < endMs) {
    await pause(everyMs, signal);
    try {
      const fields = { client_id: clientId, device_code: code.deviceCode, ...more };
      return await tokenRoutes.grant(DEVICE_GRANT, fields, signal);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      const word = errorWordOf(error);
      if (word === 'slow_down') everyMs += SLOW_DOWN_SEC * 1000;
      else if (word === 'access_denied')
        throw new ClientError(ErrorType.AuthorizationFailed, 'The user declined.', error.result);
      else if (word !== 'authorization_pending' && !error.result.retryable) throw error;
    }
  }
  throw networkError('The code expired before it was used.');
}

function errorWordOf({ result }: ClientError): string {
  try {
    const body: unknown = JSON.parse(result.responseBody);
    return isJson(body) && typeof body.error === 'string' ? body.error : '';
  } catch {
    return '';
  }
}

/** Maximum delay of a timer, milliseconds; tokens last a week. */
const TIMER_MAX_MS = 2_147_483_647;

/** Reports the expiry of the client's token once, and disconnects when the token was revoked. */
export function watchToken(core: Core): void {
  const { session, http, token, signals, log } = core;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let reportedFor: string | null = null;
  const expire = (value: string) => {
    if (token.value?.token !== value || reportedFor === value) return;
    reportedFor = value;
    signals.tokenExpiration.emit();
  };
  const clearTimer = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  signals.unauthorized.add(() => {
    // Without a session the cause, expiry or revocation, is unknown.
    if (session.status === Status.Ready && token.value !== null) expire(token.value.token);
  });
  core.sessionReady.add(() => {
    clearTimer();
    const current = token.value;
    if (current === null || !current.authorization.startsWith('Bearer ')) return;
    http.call({ method: 'GET', path: '/oauth2/@me' }).then(
      (d) => {
        const endsMs = isJson(d) ? Date.parse(String(d.expires)) : Number.NaN;
        if (token.value !== current || session.status === Status.Disconnected || Number.isNaN(endsMs)) return;
        clearTimer();
        timer = setTimeout(
          () => expire(current.token),
          Math.min(Math.max(0, endsMs - Date.now()), TIMER_MAX_MS),
        );
      },
      (error: unknown) => log.warn(`It is not known when the token ends: ${String(error)}`),
    );
  });
  signals.statusChanged.add((status) => {
    if (status === Status.Disconnected) clearTimer();
  });
  core.dispatched.add((name: string, d: Json) => {
    if (name !== 'OAUTH2_TOKEN_REVOKE') return;
    const about = d.access_token;
    if (typeof about === 'string' && about !== '' && about !== token.value?.token) return;
    log.warn('The token was taken back.');
    reportedFor = token.value?.token ?? null;
    session.disconnect();
  });
}
