import { IMAGE_BYTES_MAX } from '../../protocol/schemas/request.ts';
import type { AnyOperation } from './operation.ts';

const KIB = 1024;

/** Bounds of request bodies in bytes. An operation that needs more than the default of its `auth` declares a larger one. */
export const BODY_BYTES = {
  /** Without a token, so anyone may send these. A token of 10,240 characters fits beside the other fields. */
  open: 16 * KIB,
  /** An unauthenticated form with up to two such tokens, percent-encoded. */
  tokens: 32 * KIB,
  signedIn: 64 * KIB,
  /** Long texts and lists: a channel, an invite or a search. */
  texts: 256 * KIB,
  /** A message or lobby whose texts have the maximum length and are written in escapes (`\ud83d\ude00`). */
  message: 512 * KIB,
  /** A report of another service, most of which is dropped. */
  report: 1024 * KIB,
  /** Every prompt with every option, all with some roles and channels; it bounds what is kept of them in memory. */
  onboarding: 512 * KIB,
  /** An emoji or a sound in base64, with the other fields. */
  expression: 1024 * KIB,
  /** Texts in all locales. */
  translations: 1024 * KIB,
  /** Lists of keywords of the maximum length, written in escapes. */
  words: 1024 * KIB,
  /** One image of the maximum size in base64, with the other fields. */
  image: Math.ceil((IMAGE_BYTES_MAX * 4) / 3) + 64 * KIB,
} as const;

/**
 * The largest body that an operation reads. Forms with files are bounded only by the setting `request_bytes_max`, which
 * also bounds all other bodies.
 *
 * @param operation   Null for an unknown path and for an operation that is not built.
 * @param isMultipart Whether the body's type is multipart/form-data.
 */
export function bodyBytesMaxOf(
  operation: Pick<AnyOperation, 'auth' | 'multipart' | 'bodyBytesMax'> | null,
  isMultipart: boolean,
): number {
  if (operation === null) return BODY_BYTES.open;
  if (isMultipart && operation.multipart) return Number.POSITIVE_INFINITY;
  return operation.bodyBytesMax ?? (operation.auth === 'none' ? BODY_BYTES.open : BODY_BYTES.signedIn);
}
