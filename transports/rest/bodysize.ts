import type { AnyOperation } from './operation.ts';
import { IMAGE_BYTES_MAX } from './schema.ts';

const KIB = 1024;

/** Bytes of request bodies. An operation that needs more than the default of its `auth` declares which. */
export const BODY_BYTES = {
  /** Without a token: anyone may send these. A token of 10,240 characters and its neighbours fit. */
  open: 16 * KIB,
  /** An open form that may carry two such tokens, percent-encoded. */
  tokens: 32 * KIB,
  signedIn: 64 * KIB,
  /** Long texts and lists of a channel, an invite or a search. */
  texts: 256 * KIB,
  /** A message or lobby whose texts are all as long as the rules allow, written in escapes (`\ud83d\ude00`). */
  message: 512 * KIB,
  /** Texts in every language. */
  translations: 1024 * KIB,
  /** One image of the largest size as base64, and the fields beside it. */
  image: Math.ceil((IMAGE_BYTES_MAX * 4) / 3) + 64 * KIB,
} as const;

/**
 * The largest body that an operation reads. Only forms with files have no bound of their own: the setting
 * `request_bytes_max` is theirs, and bounds everything else too.
 *
 * @param operation   Null for a path that leads nowhere and an operation that is not built.
 * @param isMultipart Whether the body says that it is multipart/form-data.
 */
export function bodyBytesMaxOf(
  operation: Pick<AnyOperation, 'auth' | 'multipart' | 'bodyBytesMax'> | null,
  isMultipart: boolean,
): number {
  if (operation === null) return BODY_BYTES.open;
  if (isMultipart && operation.multipart) return Number.POSITIVE_INFINITY;
  return operation.bodyBytesMax ?? (operation.auth === 'none' ? BODY_BYTES.open : BODY_BYTES.signedIn);
}
