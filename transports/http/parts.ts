import { MalformedJson, OversizedJson, parseJson } from '../../protocol/json.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';

/** Most pairs of a query that are read; the bound on headers limits the length of the text. */
const PAIRS_MAX = 512;

/**
 * Parses a query string: a single key is a string, a repeated key a list. Invalid escapes are kept and invalid UTF-8
 * becomes U+FFFD, so it never fails. The record has no prototype.
 */
export function readQuery(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (text === '') return query;
  let pairs = 0;
  for (const [key, value] of new URLSearchParams(text)) {
    if (++pairs > PAIRS_MAX) break;
    const before = query[key];
    if (before === undefined) query[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else query[key] = [before, value];
  }
  return query;
}

type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads the JSON of a request as `parseJson` does: bounded in depth and number of values, with integers beyond 2^53 as
 * bigints, which `rest/shape.ts` converts to what the operation's schema expects.
 */
export function readJson(bytes: Uint8Array): ReadJson {
  try {
    return { ok: true, value: parseJson(bytes) };
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    // The platform has a single code for an unreadable body; the message here additionally names the exceeded bound.
    const invalid = refusal('INVALID_JSON');
    return {
      ok: false,
      refusal: error instanceof OversizedJson ? { ...invalid, message: error.message } : invalid,
    };
  }
}

/** Languages of one header that are read. */
const LANGUAGES_MAX = 16;
const NO_LANGUAGES: readonly string[] = [];
const LANGUAGE = /^\s*([a-z0-9-]{1,16})\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i;

/**
 * The language tags that a client prefers, best first: its `X-Discord-Locale`, or else its `Accept-Language`. Malformed
 * parts are skipped.
 *
 * @source https://docs.discord.com/developers/interactions/application-commands#retrieving-localized-commands; RFC
 * 9110, section 12.5.4
 */
export function languagesOf(headers: { get(name: string): string | undefined }): readonly string[] {
  const header = headers.get('x-discord-locale') ?? headers.get('accept-language') ?? '';
  if (header === '') return NO_LANGUAGES;
  const found = header.split(',', LANGUAGES_MAX).flatMap((part) => {
    const [, tag, quality = '1'] = LANGUAGE.exec(part) ?? [];
    return tag === undefined || Number(quality) === 0 ? [] : [{ tag, quality: Number(quality) }];
  });
  // The sort is stable: languages of equal quality keep their order.
  return found.sort((a, b) => b.quality - a.quality).map(({ tag }) => tag);
}
