const MASK = '[secret]';

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
