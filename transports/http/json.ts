import { MalformedJson, OversizedJson, parseJson } from '../../protocol/json.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';

type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads the JSON of a request as `parseJson` does: bounded in depth and number of values, with integers beyond 2^53
 * as bigints, which `rest/shape.ts` turns into what the schema of their place takes.
 */
export function readJson(bytes: Uint8Array): ReadJson {
  try {
    return { ok: true, value: parseJson(bytes) };
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    // The platform has one code for a body that is not read, and says no more; here the bound is named.
    const invalid = refusal('INVALID_JSON');
    return {
      ok: false,
      refusal: error instanceof OversizedJson ? { ...invalid, message: error.message } : invalid,
    };
  }
}
