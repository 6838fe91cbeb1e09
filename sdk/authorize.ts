import { deferred } from './deferred.ts';
import { ErrorType, type IntegrationType } from './enums.ts';
import type { Host, RedirectPlace } from './host.ts';
import type { Log } from './log.ts';
import { type AuthorizationCodeChallenge, randomText } from './pkce.ts';
import { aborted, ClientError, networkError } from './result.ts';
import type { Disposer } from './signal.ts';

export interface AuthorizationFields {
  /** Left out: what `setApplicationId` was given. */
  readonly clientId?: string | undefined;
  /** Separated by spaces: `getDefaultCommunicationScopes()` or `getDefaultPresenceScopes()`, and no more than needed. */
  readonly scopes: string;
  /** Leave it out: it is random and checked then. */
  readonly state?: string | undefined;
  /** Comes back in the id token. */
  readonly nonce?: string | undefined;
  /** Needed for `getToken`: the challenge of `createAuthorizationCodeVerifier()`. */
  readonly codeChallenge?: AuthorizationCodeChallenge | undefined;
  readonly integrationType?: IntegrationType | undefined;
  /** X makes the redirect `X:/authorize/callback`; the application hands it to `completeAuthorize`. */
  readonly customSchemeParam?: string | undefined;
}

/** Arguments of `authorize`. Plain objects with these fields do as well. */
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

  /** Arguments that stand for none: not valid, and never changed. */
  static get nullobj(): AuthorizationArgs {
    return Object.freeze(new AuthorizationArgs());
  }

  /** Whether they ask for anything. */
  valid(): boolean {
    return this.scopes.trim() !== '';
  }

  /** Another object that says the same; changing one leaves the other. */
  copy(): AuthorizationArgs {
    return new AuthorizationArgs(this);
  }
}

/** What `getToken` wants besides the verifier. */
export interface AuthorizationCode {
  readonly code: string;
  readonly redirectUri: string;
}

/** A person who has not answered by then has gone. */
const AUTHORIZE_MS = 10 * 60_000;
const CUSTOM_PATH = ':/authorize/callback';
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]{0,127}$/;

/** @throws ClientError, a ValidationError. */
function customRedirect(scheme: string): string {
  if (!SCHEME.test(scheme))
    throw new ClientError(ErrorType.ValidationError, 'customSchemeParam is not the name of a scheme.');
  return `${scheme}${CUSTOM_PATH}`;
}

/** The address of the consent page. */
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
 * What an address that was redirected to answers.
 *
 * @returns null when it is not an answer to this question: another address, or another state.
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

/** One question at a time to the person: may this application act for you? */
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

  /** Call it while a click is handled: browsers open windows only then. A question that is open is given up. */
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
    const stop = endAfter(AUTHORIZE_MS, () => reject(networkError('Nobody answered the sign-in page.')));
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

  /** The address that the application was called with. @returns whether it was the awaited one. */
  complete(address: string): boolean {
    return this.#open?.arrived(address) ?? false;
  }

  abort(): void {
    this.#open?.abort(aborted('The sign-in was given up.'));
    this.#open = null;
  }
}

function endAfter(ms: number, run: () => void): Disposer {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
