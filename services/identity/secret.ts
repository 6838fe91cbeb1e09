import { inspect } from 'node:util';

const MASK = '[secret]';

/**
 * A text that must not reach a log: printing, inspecting or serialising it yields `[secret]`. Only `reveal` returns the
 * text, so that a search for that word finds every place where a secret leaves the server.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

const FIELDS = [
  'token',
  'botToken',
  'authorization',
  'admin_token',
  'admin_tokens',
  'clientSecret',
  'client_secret',
  'signingKey',
  'token_secret',
  's3_secret_access_key',
  'database_url',
  'databaseUrl',
  'password',
  'passwordHash',
  'smtp_url',
];

/** Fields that the logger masks, at the top of an entry and up to two objects deep: the option `redact` of pino. */
export const REDACTION = {
  paths: FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
  censor: MASK,
};
