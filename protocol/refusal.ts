import { ERRORS, type ErrorName } from './errors.ts';
import type { OAuthErrorName } from './oautherrors.ts';

/** One leaf of the 50035 tree. */
export interface FieldError {
  readonly code: string;
  readonly message: string;
}

/**
 * The nested tree of a 50035 response: keys of the request, array elements by decimal index, `_errors` at a leaf. A
 * level is either a leaf or contains others; libraries and the published file know no third kind.
 */
export interface ErrorTree {
  [key: string]: ErrorTree | FieldError[] | undefined;
  _errors?: FieldError[];
}

/** An expected "no" with the platform's error code. A value, never an exception. */
export interface Refusal {
  /** HTTP status. */
  readonly status: number;
  /** The platform's JSON error code; 0 is its general error. */
  readonly code: number;
  readonly message: string;
  readonly errors?: ErrorTree;
  /** Faults of an uploaded list, line by line, under the field of the file; beside the tree. */
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  /** Seconds; only for responses that tell the client when to retry. */
  readonly retryAfterSec?: number;
  /** Set for an error of RFC 6749, whose description is `message`; see `oauth.ts`. */
  readonly oauthError?: OAuthErrorName;
}

/** Makes the refusal of a name in the error table. */
export function refusal(name: ErrorName): Refusal {
  const { status, code, message } = ERRORS[name];
  return { status, code, message };
}

/**
 * A request key as a key of the tree; escaped so that a client's key reaches neither the list of a leaf nor the
 * prototype.
 */
export const treeKey = (key: string | number): string =>
  key === '_errors' || key === '__proto__' ? `${key}_` : String(key);

/** A 50035 with one invalid field. `path` is keys and indices from the body's root; empty for the whole body. */
export function invalidField(path: readonly (string | number)[], code: string, message: string): Refusal {
  const leaf: ErrorTree = { _errors: [{ code, message }] };
  const errors = path.reduceRight<ErrorTree>((tree, key) => ({ [treeKey(key)]: tree }), leaf);
  return { ...refusal('INVALID_FORM_BODY'), errors };
}

/** The refusal of an object that is the value of this key of the request. */
export const refusedIn = (key: string, no: Refusal): Refusal =>
  no.errors === undefined ? no : { ...no, errors: { [treeKey(key)]: no.errors } };

/** The messages of all invalid fields of a 50035 in the order of the tree: `username: This name is taken.` */
export function fieldMessages(tree: ErrorTree, path: readonly string[] = []): string[] {
  return Object.entries(tree).flatMap(([key, level]) => {
    if (level === undefined) return [];
    if (!Array.isArray(level)) return fieldMessages(level, [...path, key]);
    const field = path.length === 0 ? '' : `${path.join('.')}: `;
    return level.map(({ message }) => `${field}${message}`);
  });
}

/** A refusal in one line for people, with the invalid fields if it names any. */
export function refusalText({ message, errors }: Pick<Refusal, 'message' | 'errors'>): string {
  const fields = errors === undefined ? [] : fieldMessages(errors);
  return fields.length === 0 ? message : fields.map(sentence).join(' ');
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
