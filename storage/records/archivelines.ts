import { isRecord } from '../../protocol/json.ts';
import { terminalText } from '../../protocol/names.ts';

/** The largest file of an archive. Its line is one string, and a string has at most 2^29 characters. */
export const FILE_BYTES_MAX = 256 << 20;
/** The longest line of a row. Rows of a server have a few kilobytes. */
export const ROW_CHARACTERS_MAX = 8 << 20;
const LINE_BYTES_MAX = Math.ceil(FILE_BYTES_MAX / 3) * 4 + 4_096;
/** Commas of a line with a file: key, type and data follow the kind. */
const FILE_COMMAS = 3;
const EXCERPT_CHARACTERS = 60;
const NEWLINE = 0x0a;

/** An archive is damaged, or does not fit this server. The message is for the operator. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
}

/** An excerpt of an archive's text that a terminal can print. */
export const excerpt = (text: unknown): string => terminalText(String(text).slice(0, EXCERPT_CHARACTERS));

/** Splits a file into lines. @throws ArchiveFault for a line that is longer than any that an export writes. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const keep = (part: Uint8Array): void => {
    bytes += part.length;
    if (bytes > LINE_BYTES_MAX) throw new ArchiveFault(`A line has more than ${LINE_BYTES_MAX} bytes.`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end));
      yield Buffer.concat(parts).toString();
      parts = [];
      bytes = 0;
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  if (bytes > 0) yield Buffer.concat(parts).toString();
}

/** Whether a long line can only be a file: one flat object with four members. */
const isFlat = (line: string): boolean =>
  line.startsWith('{"kind":"file",') &&
  line.lastIndexOf('{') === 0 &&
  !line.includes('[') &&
  line.split(',', FILE_COMMAS + 2).length <= FILE_COMMAS + 1;

/** The object of a line. @throws ArchiveFault when it is something else, or too large. */
export function objectOf(line: string, number: number): Record<string, unknown> {
  if (line.length > ROW_CHARACTERS_MAX && !isFlat(line))
    throw new ArchiveFault(`Line ${number} has more than ${ROW_CHARACTERS_MAX} characters.`);
  try {
    const value: unknown = JSON.parse(line);
    if (isRecord(value)) return value;
  } catch {
    // Answered below.
  }
  throw new ArchiveFault(`Line ${number} is no JSON object: ${excerpt(line)}`);
}
