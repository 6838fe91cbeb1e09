import zlib from 'node:zlib';
import { MalformedJson, parseJson } from '../../../protocol/json.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { decodeEtf, EtfError } from './etf.decode.ts';

/** A client's payload: `op` is an integer, `d` any value, in which integers beyond 2^53 are bigints. */
export interface Payload {
  readonly op: number;
  readonly d: unknown;
}

const ZLIB_FIRST_BYTE = 0x78;
/** Whether `zlib` failed because of malformed input; any other error is the server's own. */
const isZlibInputError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ERR_BUFFER_TOO_LARGE)/.test(String(error.code));

/** Nesting limit, the same as the ETF decoder's; no opcode needs as many levels. */
const DEPTH_MAX = 32;

/** Decodes JSON. In a binary frame it may be deflated: old libraries do so when payload compression is on. */
function decodeJson(bytes: Uint8Array, binary: boolean, bytesMax: number): unknown {
  const isDeflated = binary && bytes[0] === ZLIB_FIRST_BYTE;
  const plain = isDeflated ? zlib.inflateSync(bytes, { maxOutputLength: bytesMax }) : bytes;
  return parseJson(plain, DEPTH_MAX);
}

const isMalformed = (error: unknown): boolean =>
  error instanceof MalformedJson || error instanceof EtfError || isZlibInputError(error);

/**
 * Decodes one frame of a client.
 *
 * @param bytesMax Bound of its size, also when inflated.
 * @returns null when it is not a payload, which the socket answers with close code 4002.
 */
export function decodePayload(
  bytes: Uint8Array,
  binary: boolean,
  encoding: 'json' | 'etf',
  bytesMax: number = LIMITS.gateway_payload_bytes_max,
): Payload | null {
  if (bytes.length > bytesMax || (encoding === 'etf' && !binary)) return null;
  try {
    const value = encoding === 'json' ? decodeJson(bytes, binary, bytesMax) : decodeEtf(bytes);
    if (typeof value !== 'object' || value === null) return null;
    const { op, d } = value as { op?: unknown; d?: unknown };
    return typeof op === 'number' && Number.isInteger(op) ? { op, d: d ?? null } : null;
  } catch (error) {
    if (isMalformed(error)) return null;
    throw error;
  }
}
