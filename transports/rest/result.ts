import { ERRORS, type ErrorName } from '../../protocol/errors.ts';
import type { Refusal } from '../../protocol/refusal.ts';

/** An answer before serialization. An undefined `body` means no content. */
export interface Result {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export const textOf = (name: ErrorName): string => ERRORS[name].message;

/** The wire's error object of a refusal: the platform's, or that of RFC 6749. */
export function errorBody(no: Refusal): object {
  const { code, message, errors, lines, status, retryAfterSec, oauthError } = no;
  if (oauthError !== undefined) return { error: oauthError, error_description: message };
  return {
    message,
    code,
    ...(errors ? { errors } : {}),
    ...lines,
    ...(retryAfterSec === undefined ? {} : { retry_after: retryAfterSec }),
    ...(status === 429 ? { global: false } : {}),
  };
}
