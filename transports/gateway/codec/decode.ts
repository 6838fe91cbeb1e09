import zlib from 'node:zlib';
import { MalformedJson, parseJson } from '../../../protocol/json.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { decodeEtf, EtfError } from './etf.decode.ts';

/** A client's payload: `op` is a whole number, `d` anything; integers beyond 2^53 in it are bigints. */
export interface Payload {
  readonly op: number;
  readonly d: unknown;
}

const ZLIB_FIRST_BYTE = 0x78;
const INFLATE = { maxOutputLength: LIMITS.gateway_payload_bytes_max };
/** Faults that malformed input causes in `zlib`; others are the server's own. */
const isZlibInputError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ERR_BUFFER_TOO_LARGE)/.test(String(error.code));

/** As many as the ETF decoder follows; no opcode takes as many. */
const DEPTH_MAX = 32;

/** In a binary frame JSON may be deflated, which is how old libraries answer payload compression. */
function decodeJson(bytes: Uint8Array, binary: boolean): unknown {
  const plain = binary && bytes[0] === ZLIB_FIRST_BYTE ? zlib.inflateSync(bytes, INFLATE) : bytes;
  return parseJson(plain, DEPTH_MAX);
}

const isMalformed = (error: unknown): boolean =>
  error instanceof MalformedJson || error instanceof EtfError || isZlibInputError(error);

/** Decodes one frame of a client. Null: it cannot be read as a payload, which is close code 4002. */
export function decodePayload(bytes: Uint8Array, binary: boolean, encoding: 'json' | 'etf'): Payload | null {
  if (bytes.length > LIMITS.gateway_payload_bytes_max || (encoding === 'etf' && !binary)) return null;
  try {
    const value = encoding === 'json' ? decodeJson(bytes, binary) : decodeEtf(bytes);
    if (typeof value !== 'object' || value === null) return null;
    const { op, d } = value as { op?: unknown; d?: unknown };
    return Number.isInteger(op) ? { op: op as number, d: d ?? null } : null;
  } catch (error) {
    if (isMalformed(error)) return null;
    throw error;
  }
}
