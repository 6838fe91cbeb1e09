import { type AuthorizationCode, type AuthorizationFields, Authorizer } from '../authorize.ts';
import { type AuthenticationExternalAuthType, AuthorizationTokenType, ErrorType, Status } from '../enums.ts';
import type { UserHandle } from '../handles.ts';
import { pause } from '../http.ts';
import { type AuthorizationCodeVerifier, createVerifier } from '../pkce.ts';
import { aborted, ClientError, invalid, networkError } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { keepUser } from '../store/people.ts';
import { idOf } from '../store/read.ts';
import { checkToken, type DeviceCode, externalAuthFields, TokenDesk, type TokenExchange } from '../tokens.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { type Core, checkId, unexpected } from './core.ts';

export interface DeviceAuthorizationArgs {
  /** Left out: what `setApplicationId` was given. */
  readonly clientId?: string;
  readonly scopes: string;
  /** Told as soon as there is a code for the person to type; without it the client opens the page itself. */
  readonly onCode?: (
    code: Pick<DeviceCode, 'userCode' | 'verificationUri' | 'verificationUriComplete'>,
  ) => void;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SLOW_DOWN_SEC = 5;
const DISPLAY_NAME_CHARS_MAX = 32;

/** Who plays: sign-in, tokens, players without an account. Grants here are those of public clients. */
export class Accounts {
  readonly #core: Core;
  readonly #desk: TokenDesk;
  readonly #authorizer: Authorizer;
  #device: AbortController | null = null;

  constructor(core: Core) {
    this.#core = core;
    this.#desk = new TokenDesk(core);
    this.#authorizer = new Authorizer(core);
  }

  setApplicationId(applicationId: string): void {
    this.#core.setApplicationId(applicationId);
  }

  getApplicationId(): string {
    return this.#core.applicationIdOr();
  }

  /** For `authorize` (its challenge) and `getToken` (its verifier). */
  createAuthorizationCodeVerifier(): Promise<AuthorizationCodeVerifier> {
    return createVerifier();
  }

  /**
   * Shows the consent page and waits for its answer. In a browser call it while a click is handled.
   *
   * @throws ClientError: AuthorizationFailed when the person declines, Aborted, NetworkError after ten minutes.
   */
  async authorize(args: AuthorizationFields): Promise<AuthorizationCode> {
    if (args.scopes.trim() === '') throw invalid('scopes: ask for at least one.');
    return this.#authorizer.ask(args, this.#core.applicationIdOr(args.clientId));
  }

  /** Hands over an address of a custom scheme. @returns whether it was the one `authorize` waits for. */
  completeAuthorize(address: string): boolean {
    return this.#authorizer.complete(address);
  }

  abortAuthorize(): void {
    this.#authorizer.abort();
  }

  /** Exchanges a code of `authorize` for tokens. */
  async getToken(
    applicationId: string,
    code: string,
    codeVerifier: string,
    redirectUri: string,
  ): Promise<TokenExchange> {
    return this.#desk.grant('authorization_code', byCode(applicationId, code, codeVerifier, redirectUri));
  }

  /** As `getToken`, and what the player did without an account becomes the account's. */
  async getTokenFromProvisionalMerge(
    applicationId: string,
    code: string,
    codeVerifier: string,
    redirectUri: string,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<TokenExchange> {
    return this.#desk.grant('authorization_code', {
      ...byCode(applicationId, code, codeVerifier, redirectUri),
      ...external(externalAuthType, externalAuthToken),
    });
  }

  /** For devices without a browser: the person answers on another one. */
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

  /** Opens the page where the person types the code of their device. */
  openAuthorizeDeviceScreen(_clientId: string, userCode: string): void {
    this.#core.host.openUrl(`${this.#core.webBase}/activate?user_code=${encodeURIComponent(userCode)}`);
  }

  /** Stops waiting for the device; what was opened closes by itself. */
  closeAuthorizeDeviceScreen(): void {
    this.#device?.abort();
  }

  setAuthorizeDeviceScreenClosedCallback(callback: () => void): Disposer {
    return this.#core.signals.authorizeDeviceScreenClosed.set(callback);
  }

  /** A new pair; the old access and refresh token count no more. */
  async refreshToken(applicationId: string, refreshToken: string): Promise<TokenExchange> {
    return this.#desk.grant('refresh_token', {
      client_id: checkId('applicationId', applicationId),
      refresh_token: checkToken('refreshToken', refreshToken, 'pass the one that came with the access token'),
    });
  }

  /** Takes back everything that this token's authorization allowed. */
  async revokeToken(applicationId: string, value: string): Promise<void> {
    return this.#desk.revoke(
      checkId('applicationId', applicationId),
      checkToken('The token to revoke', value),
    );
  }

  /** A token of a child application, from one of its parent. It ends with the parent's. */
  async exchangeChildToken(
    parentApplicationToken: string,
    childApplicationId: string,
  ): Promise<TokenExchange> {
    return this.#desk.partnerTokens('/partner-sdk/child-token', {
      parent_access_token: checkToken('parentApplicationToken', parentApplicationToken),
      child_application_id: checkId('childApplicationId', childApplicationId),
    });
  }

  /** Signs in a player who has no account, on the word of another service. */
  async getProvisionalToken(
    applicationId: string,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<TokenExchange> {
    return this.#desk.partnerTokens('/partner-sdk/token', {
      client_id: checkId('applicationId', applicationId),
      ...external(externalAuthType, externalAuthToken),
    });
  }

  /** Takes an account away from the player again, who goes on without one. */
  async unmergeIntoProvisionalAccount(
    applicationId: string,
    externalAuthType: AuthenticationExternalAuthType,
    externalAuthToken: string,
  ): Promise<void> {
    const fields = external(externalAuthType, externalAuthToken);
    const body = { client_id: checkId('applicationId', applicationId), ...fields };
    await this.#desk.partner('/partner-sdk/provisional-accounts/unmerge', body);
  }

  /** Names the player as others see them: 1 to 32 characters. */
  async updateProvisionalAccountDisplayName(name: string): Promise<void> {
    const chars = [...name].length;
    if (chars < 1 || chars > DISPLAY_NAME_CHARS_MAX) throw invalid('A display name has 1 to 32 characters.');
    await this.#core.http.call({ method: 'PATCH', path: '/users/@me/account', body: { global_name: name } });
  }

  /**
   * The token that everything is done with. While connected, the connection is made again with it, and the promise
   * waits for that.
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

  /** Called once for a token that has come to its end; not for one that was taken back. */
  setTokenExpirationCallback(callback: () => void): Disposer {
    return this.#core.signals.tokenExpiration.set(callback);
  }

  /** Whose token it is. Needs no connection, and does not make the token the client's. */
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
      const code = await this.#desk.device(clientId, args.scopes);
      if (args.onCode !== undefined) args.onCode(code);
      else host.openUrl(code.verificationUriComplete || code.verificationUri);
      return await pollDevice(this.#desk, { clientId, code, more, signal: own.signal });
    } catch (error) {
      throw own.signal.aborted ? aborted('The sign-in was given up.') : error;
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

/** @throws ClientError when it could not be a token: it goes into a header. */
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

/** Asks as often as the server wants until the person has answered. @source RFC 8628, section 3.5 */
async function pollDevice(
  desk: TokenDesk,
  { clientId, code, more, signal }: DevicePoll,
): Promise<TokenExchange> {
  const endMs = Date.now() + code.expiresIn * 1000;
  let everyMs = code.interval * 1000;
  while (Date.now() < endMs) {
    await pause(everyMs, signal);
    try {
      const fields = { client_id: clientId, device_code: code.deviceCode, ...more };
      return await desk.grant(DEVICE_GRANT, fields, signal);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      const word = errorWordOf(error);
      if (word === 'slow_down') everyMs += SLOW_DOWN_SEC * 1000;
      else if (word === 'access_denied')
        throw new ClientError(ErrorType.AuthorizationFailed, 'The person declined.', error.result);
      else if (word !== 'authorization_pending' && !error.result.retryable) throw error;
    }
  }
  throw networkError('The code ended before anyone used it.');
}

function errorWordOf({ result }: ClientError): string {
  try {
    const body: unknown = JSON.parse(result.responseBody);
    return isJson(body) && typeof body.error === 'string' ? body.error : '';
  } catch {
    return '';
  }
}

/** The longest a timer can hold; a token lasts a week. */
const TIMER_MAX_MS = 2_147_483_647;

/** Tells once when the client's token has come to its end, and ends a session whose token was taken back. */
export function watchToken(core: Core): void {
  const { session, http, token, signals, log } = core;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let toldFor: string | null = null;
  const expire = (value: string) => {
    if (token.value?.token !== value || toldFor === value) return;
    toldFor = value;
    signals.tokenExpiration.emit();
  };
  const rest = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  signals.unauthorized.add(() => {
    // Without a session nobody knows whether it ended or was taken back.
    if (session.status === Status.Ready && token.value !== null) expire(token.value.token);
  });
  core.stood.add(() => {
    rest();
    const current = token.value;
    if (current === null || !current.authorization.startsWith('Bearer ')) return;
    http.call({ method: 'GET', path: '/oauth2/@me' }).then(
      (d) => {
        const endsMs = isJson(d) ? Date.parse(String(d.expires)) : Number.NaN;
        if (token.value !== current || session.status === Status.Disconnected || Number.isNaN(endsMs)) return;
        rest();
        timer = setTimeout(
          () => expire(current.token),
          Math.min(Math.max(0, endsMs - Date.now()), TIMER_MAX_MS),
        );
      },
      (error: unknown) => log.warn(`It is not known when the token ends: ${String(error)}`),
    );
  });
  signals.statusChanged.add((status) => {
    if (status === Status.Disconnected) rest();
  });
  core.dispatched.add((name: string, d: Json) => {
    if (name !== 'OAUTH2_TOKEN_REVOKE') return;
    const about = d.access_token;
    if (typeof about === 'string' && about !== '' && about !== token.value?.token) return;
    log.warn('The token was taken back.');
    toldFor = token.value?.token ?? null;
    session.disconnect();
  });
}
