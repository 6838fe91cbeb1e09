import { MalformedJson, OversizedJson, parseJson } from '../../protocol/json.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';

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
