import { isRecord } from './json.ts';

/** Fields and path parameters whose texts are secrets, wherever they are. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  ...['token', 'access_token', 'refresh_token', 'id_token', 'bot_token', 'parent_token', 'subject_token'],
  ...['external_auth_token', 'provisional_token', 'actor_token', 'assertion', 'client_assertion'],
  ...['password', 'new_password', 'current_password', 'secret', 'client_secret', 'lobby_secret'],
  ...[
    'code_verifier',
    'device_code',
    'user_code',
    'ticket',
    'mfa_code',
    'totp',
    'backup_code',
    'nonce_secret',
  ],
  ...['webhook_token', 'interaction_token', 'captcha_key', 'rqtoken', 'join', 'spectate', 'match'],
  ...['authorization_code', 'signing_key', 'private_key', 'secret_key', 'one_time_code'],
]);
/** `code` is an authorization code in these requests and answers, and an invite or an error elsewhere. */
const CODE_BESIDE = [
  ...['client_id', 'grant_type', 'redirect_uri', 'code_verifier'],
  ...['ticket', 'secret', 'password'],
];
/** The shape of this server's tokens, and of tokens signed by others (RFC 7519), in any text. */
const TOKEN_SHAPES = /[\w-]{10,}\.[\w-]{4,}\.[\w-]{20,}/g;
/** Secrets in URLs: query and fragment parameters of OAuth2 redirects, and the tokens of webhooks and interactions. */
const URL_SECRETS =
  /([?&#](?:code|token|access_token|refresh_token|id_token|client_secret|ticket|user_code)=|\/(?:webhooks|interactions)\/\d+\/)([^\s"'<>&#?/⟨⟩]{8,})/g;
/** Clients may send a token with the scheme of the Authorization header. */
const SCHEME = /^(?:(?:Bot|Bearer) +)?/i;
const STAND_IN = /⟨secret:(\d+)⟩/g;
/** Shorter secrets are replaced only where their field says what they are. */
const FOUND_CHARACTERS_MIN = 8;
const DEPTH_MAX = 64;

/** Thrown when a recording has as many secrets as it can hold. */
export class StandInsFull extends Error {
  override readonly name = 'StandInsFull';
}

/**
 * Replaces secrets by stand-ins, the same secret by the same one, so that a recording shows which were equal and holds none.
 * A secret that was seen once is replaced in every later text.
 */
export class StandIns {
  readonly #names = new Map<string, string>();
  readonly #max: number;
  #search: RegExp | null = null;

  constructor(max = 2_000) {
    this.#max = max;
  }

  /** The stand-in of a secret. @throws StandInsFull */
  of(secret: string): string {
    const known = this.#names.get(secret);
    if (known !== undefined) return known;
    if (this.#names.size >= this.#max) throw new StandInsFull(`More than ${this.#max} secrets.`);
    const name = `⟨secret:${this.#names.size + 1}⟩`;
    this.#names.set(secret, name);
    if (secret.length >= FOUND_CHARACTERS_MIN) this.#search = null;
    return name;
  }

  /** Replaces the secrets within a text. */
  text(text: string): string {
    // A client's own text in the form of a stand-in must not become a secret in a replay.
    const plain = text.replaceAll('⟨secret:', '⟨secret⟩:');
    const search = this.#searchOf();
    const unknown = search === null ? plain : plain.replaceAll(search, (secret) => this.of(secret));
    return unknown
      .replaceAll(TOKEN_SHAPES, (token) => this.of(token))
      .replaceAll(URL_SECRETS, (_, before: string, secret: string) => before + this.of(secret));
  }

  /** The text of a field or parameter, which may be a secret by its name. */
  field(name: string, text: string): string {
    return text !== '' && isSecret(name, false) ? this.#hidden(text) : this.text(text);
  }

  /** A copy of a JSON value in which secrets are replaced. */
  value(value: unknown): unknown {
    // Two passes: a secret may be part of a text that stands before it, such as a webhook's URL.
    this.#learn(value, 0);
    return this.#masked(value, 0);
  }

  #learn(value: unknown, depth: number): void {
    if (depth > DEPTH_MAX) return;
    if (Array.isArray(value)) for (const each of value) this.#learn(each, depth + 1);
    if (!isRecord(value)) return;
    const isGrant = hasGrant(value);
    for (const [name, each] of Object.entries(value))
      if (typeof each !== 'string') this.#learn(each, depth + 1);
      else if (each !== '' && isSecret(name, isGrant)) this.#hidden(each);
  }

  #masked(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value);
    if (depth > DEPTH_MAX) return null;
    if (Array.isArray(value)) return value.map((each) => this.#masked(each, depth + 1));
    if (!isRecord(value)) return value;
    const isGrant = hasGrant(value);
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => {
        const isHidden = typeof each === 'string' && each !== '' && isSecret(name, isGrant);
        return [this.text(name), isHidden ? this.#hidden(each) : this.#masked(each, depth + 1)];
      }),
    );
  }

  /** Replaces a whole secret, and keeps the scheme before it. */
  #hidden(text: string): string {
    const [scheme = ''] = SCHEME.exec(text) ?? [];
    return text === scheme ? text : scheme + this.of(text.slice(scheme.length));
  }

  #searchOf(): RegExp | null {
    if (this.#search !== null || this.#names.size === 0) return this.#search;
    const long = [...this.#names.keys()].filter(({ length }) => length >= FOUND_CHARACTERS_MIN);
    if (long.length === 0) return null;
    const longestFirst = long.toSorted((one, other) => other.length - one.length);
    this.#search = new RegExp(longestFirst.map(escaped).join('|'), 'g');
    return this.#search;
  }
}

const hasGrant = (value: Readonly<Record<string, unknown>>): boolean =>
  CODE_BESIDE.some((name) => Object.hasOwn(value, name));

const isSecret = (name: string, isGrant: boolean): boolean =>
  SECRET_FIELDS.has(name) || (isGrant && name === 'code');

/** The text as a pattern that matches it. */
export const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** Puts values in the place of stand-ins; one without a value becomes a text that is the same each time. */
export const resolveStandIns = (text: string, secretOf: (standIn: string) => string | undefined): string =>
  text.replaceAll(STAND_IN, (standIn, number: string) => secretOf(standIn) ?? `Replayed-secret-${number}`);
