import { isRecord } from './json.ts';

/** Version of the format of recordings; the first line has it. */
export const RECORDING_VERSION = 1;
/** Characters of one line. A longer answer or dispatch is replaced by its length. */
const RECORDING_LINE_CHARACTERS_MAX = 262_144;

interface Moment {
  /** Milliseconds since the recording began. */
  readonly at: number;
}

export interface RecordedFile {
  readonly field: string;
  readonly filename: string;
  readonly content_type: string;
  /** Base64; null for a file that is too large for a recording. */
  readonly data: string | null;
  readonly size: number;
}

export interface RecordedCall extends Moment {
  readonly kind: 'call';
  /** How long the answer took, milliseconds. */
  readonly ms: number;
  readonly operation: string;
  /** The Authorization header, its secret replaced. */
  readonly authorization: string | null;
  readonly user_id: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  readonly files: readonly RecordedFile[];
  readonly reason: string | null;
  readonly status: number;
  readonly answer: unknown;
}

export interface RecordedFrame extends Moment {
  readonly kind: 'frame';
  readonly connection: number;
  readonly op: number;
  readonly d: unknown;
}

export interface RecordedDispatch extends Moment {
  readonly kind: 'dispatch';
  readonly connection: number;
  readonly t: string;
  readonly d: unknown;
}

/** One line of a recording: an input of the server, or what it answered. */
export type RecordedLine =
  | {
      readonly kind: 'begin';
      readonly version: number;
      readonly server: string;
      /** Unix milliseconds. */
      readonly began: number;
      readonly contract_date: string | null;
      readonly bots: number;
      readonly guide: boolean;
    }
  /** The demo world that the server started with: the objects of `guildhall dev --json`. */
  | { readonly kind: 'demo'; readonly demo: unknown }
  | RecordedCall
  | (Moment & { readonly kind: 'open'; readonly connection: number })
  | RecordedFrame
  | RecordedDispatch
  | (Moment & { readonly kind: 'shut'; readonly connection: number })
  /** `full`: a bound was reached, and what came later is missing. */
  | (Moment & { readonly kind: 'end'; readonly reason: 'stopped' | 'full' });

/** Replaces what is too large for a line; a marker that no payload of the wire has. */
export const TOO_LARGE = '[too large]';

/** Writes a line, without the line feed. Integers beyond 2^53 become strings, as the wire has them. */
export function encodeRecordedLine(line: RecordedLine): string {
  const text = jsonOf(line);
  if (text.length <= RECORDING_LINE_CHARACTERS_MAX) return text;
  if (line.kind === 'dispatch' || line.kind === 'frame') return jsonOf({ ...line, d: TOO_LARGE });
  if (line.kind !== 'call') return jsonOf(line);
  const answerless = jsonOf({ ...line, answer: TOO_LARGE });
  if (answerless.length <= RECORDING_LINE_CHARACTERS_MAX) return answerless;
  const files = line.files.map((file) => ({ ...file, data: null }));
  return jsonOf({ ...line, answer: TOO_LARGE, body: TOO_LARGE, files });
}

const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isTexts = (value: unknown): boolean => isRecord(value) && Object.values(value).every(isText);
const isFile = (value: unknown): boolean =>
  isRecord(value) &&
  [value.field, value.filename, value.content_type].every(isText) &&
  isTextOrNull(value.data) &&
  isNumber(value.size);

/** The required fields of each kind of line; other fields are kept as they are. */
const FIELDS: Readonly<Record<RecordedLine['kind'], Readonly<Record<string, (value: unknown) => boolean>>>> =
  {
    begin: {
      version: isNumber,
      server: isText,
      began: isNumber,
      contract_date: isTextOrNull,
      bots: isNumber,
    },
    demo: { demo: isRecord },
    call: {
      ...{ at: isNumber, ms: isNumber, operation: isText, status: isNumber },
      ...{ authorization: isTextOrNull, user_id: isTextOrNull, reason: isTextOrNull, params: isTexts },
      files: (value) => Array.isArray(value) && value.every(isFile),
    },
    open: { at: isNumber, connection: isNumber },
    frame: { at: isNumber, connection: isNumber, op: isNumber },
    dispatch: { at: isNumber, connection: isNumber, t: isText },
    shut: { at: isNumber, connection: isNumber },
    end: { at: isNumber, reason: isText },
  };

const isKind = (value: unknown): value is RecordedLine['kind'] =>
  isText(value) && Object.hasOwn(FIELDS, value);

const isRecordedLine = (value: unknown): value is RecordedLine =>
  isRecord(value) &&
  isKind(value.kind) &&
  Object.entries(FIELDS[value.kind]).every(([name, isRight]) => isRight(value[name]));

/** Reads a line. @throws SyntaxError when the text is not a line of a recording. */
export function parseRecordedLine(text: string): RecordedLine {
  if (text.length > RECORDING_LINE_CHARACTERS_MAX * 2)
    throw new SyntaxError('Line too long for a recording.');
  const value: unknown = JSON.parse(text);
  if (isRecordedLine(value)) return value;
  const kind = isRecord(value) ? value.kind : value;
  throw new SyntaxError(
    isKind(kind)
      ? `Malformed line of kind ${kind}.`
      : `Unknown kind of line: ${JSON.stringify(kind)?.slice(0, 50)}.`,
  );
}
