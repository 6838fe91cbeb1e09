import { deferred } from './deferred.ts';
import { ErrorType, type IntegrationType } from './enums.ts';
import type { Host, RedirectPlace } from './host.ts';
import type { Log } from './log.ts';
import { type AuthorizationCodeChallenge, randomText } from './pkce.ts';
import { aborted, ClientError, networkError } from './result.ts';
import type { Disposer } from './signal.ts';

export interface AuthorizationFields {
  /** Default: the id given to `setApplicationId`. */
  readonly clientId?: string | undefined;
  /**
   * Scopes separated by spaces: `getDefaultCommunicationScopes()` or `getDefaultPresenceScopes()`; request no more
   * than needed.
   */
  readonly scopes: string;
  /** Default (recommended): a random state that the library verifies. */
  readonly state?: string | undefined;
  /** Nonce that the id token repeats. */
  readonly nonce?: string | undefined;
  /** Required for `getToken`: the challenge of `createAuthorizationCodeVerifier()`. */
  readonly codeChallenge?: AuthorizationCodeChallenge | undefined;
  readonly integrationType?: IntegrationType | undefined;
  /**
   * Custom URL scheme X: the redirect is `X:/authorize/callback`, and the application passes it to
   * `completeAuthorize`.
   */
  readonly customSchemeParam?: string | undefined;
}

/** Arguments of `authorize`. Plain objects with these fields are accepted as well. */
export class AuthorizationArgs implements AuthorizationFields {
  clientId: string | undefined;
  scopes: string;
  state: string | undefined;
  nonce: string | undefined;
  codeChallenge: AuthorizationCodeChallenge | undefined;
  integrationType: IntegrationType | undefined;
  customSchemeParam: string | undefined;

  constructor(fields: Partial<AuthorizationFields> = {}) {
    this.clientId = fields.clientId;
    this.scopes = fields.scopes ?? '';
    this.state = fields.state;
    this.nonce = fields.nonce;
    this.codeChallenge = fields.codeChallenge && { ...fields.codeChallenge };
    this.integrationType = fields.integrationType;
    this.customSchemeParam = fields.customSchemeParam;
  }

  /** Shared empty value: invalid as arguments, never mutated. */
  static get nullobj(): AuthorizationArgs {
    return Object.freeze(new AuthorizationArgs());
  }

  /** Whether any field is set. */
  valid(): boolean {
    return this.scopes.trim() !== '';
  }

  /** Returns an independent copy. */
  copy(): AuthorizationArgs {
    return new AuthorizationArgs(this);
  }
}

/** Arguments of `getToken` besides the verifier. */
export interface AuthorizationCode {
  readonly code: string;
  readonly redirectUri: string;
}

/** Time limit for the person to answer the consent page, milliseconds. */
const AUTHORIZE_MS = 10 * 60_000;
const CUSTOM_PATH = ':/authorize/callback';
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]{0,127}$/;

/** @throws ClientError of type ValidationError. */
function customRedirect(scheme: string): string {
  if (!SCHEME.test(scheme))
    throw new ClientError(ErrorType.ValidationError, 'customSchemeParam is not a valid URL scheme.');
  return `${scheme}${CUSTOM_PATH}`;
}

/** URL of the consent page. */
function authorizeUrl(
  webBase: string,
  args: AuthorizationFields,
  given: { clientId: string; state: string; redirectUri: string },
): string {
  const url = new URL(`${webBase}/oauth2/authorize`);
  const { nonce, codeChallenge, integrationType } = args;
  const parameters = {
    client_id: given.clientId,
    response_type: 'code',
    scope: args.scopes.trim().split(/\s+/).join(' '),
    redirect_uri: given.redirectUri,
    state: given.state,
    nonce,
    code_challenge: codeChallenge?.challenge,
    code_challenge_method: codeChallenge && 'S256',
    integration_type: integrationType,
  };
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return url.href;
}

/**
 * Parses the redirect URL of an authorization.
 *
 * @returns null when the URL does not answer this request: another path, or another state.
 */
export function readRedirect(
  address: string,
  expected: { redirectUri: string; state: string },
): { readonly code: string } | { readonly error: ClientError } | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const [base] = address.split(/[?#]/);
  if (base !== expected.redirectUri && base !== new URL(expected.redirectUri).href) return null;
  const { searchParams } = url;
  if (searchParams.get('state') !== expected.state) return null;
  const code = searchParams.get('code');
  if (code !== null && code !== '') return { code };
  const sentence = searchParams.get('error_description') ?? searchParams.get('error') ?? 'There was no code.';
  return { error: new ClientError(ErrorType.AuthorizationFailed, sentence.slice(0, 300)) };
}

interface Open {
  readonly arrived: (address: string) => boolean;
  readonly abort: (error: ClientError) => void;
}

/** Asks the person for authorization. At most one request is open at a time. */
export class Authorizer {
  readonly #host: Host;
  readonly #webBase: string;
  readonly #redirectPage: string | null;
  readonly #log: Log;
  #open: Open | null = null;

  constructor(given: { host: Host; webBase: string; redirectPage: string | null; log: Log }) {
    this.#host = given.host;
    this.#webBase = given.webBase;
    this.#redirectPage = given.redirectPage;
    this.#log = given.log;
  }

  /** Call this while a click is handled: browsers block popups otherwise. An open request is cancelled. */
  async ask(args: AuthorizationFields, clientId: string): Promise<AuthorizationCode> {
    this.abort();
    const state = args.state ?? randomText(32);
    const { customSchemeParam } = args;
    const custom = customSchemeParam === undefined ? null : customRedirect(customSchemeParam);
    let place: RedirectPlace | null = null;
    let expected: { redirectUri: string; state: string } | null = null;
    const { promise: answer, resolve, reject } = deferred<string>();
    const open: Open = {
      arrived: (address) => {
        const read = expected && readRedirect(address, expected);
        if (!read) return false;
        if ('code' in read) {
          this.#log.keepSecret(read.code);
          resolve(read.code);
        } else reject(read.error);
        return true;
      },
      abort: reject,
    };
    this.#open = open;
    this.#log.keepSecret(state);
    const stop = endAfter(AUTHORIZE_MS, () =>
      reject(networkError('The sign-in page was not answered in time.')),
    );
    try {
      const gone = () => reject(aborted('The window was closed.'));
      if (custom === null) place = await this.#host.awaitRedirect(open.arrived, gone, this.#redirectPage);
      const redirectUri = place?.redirectUri ?? custom!;
      expected = { redirectUri, state };
      this.#host.openUrl(authorizeUrl(this.#webBase, args, { clientId, state, redirectUri }));
      return { code: await answer, redirectUri };
    } catch (error) {
      throw error instanceof ClientError
        ? error
        : new ClientError(ErrorType.AuthorizationFailed, String(error));
    } finally {
      stop();
      place?.close();
      if (this.#open === open) this.#open = null;
    }
  }

  /** Passes the redirect URL that the application was started with. @returns whether it matched the open request. */
  complete(address: string): boolean {
    return this.#open?.arrived(address) ?? false;
  }

  abort(): void {
    this.#open?.abort(aborted('The sign-in was aborted.'));
    this.#open = null;
  }
}

function endAfter(ms: number, run: () => void): Disposer {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
