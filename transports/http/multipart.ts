import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Upload } from '../rest/operation.ts';
import { invalidForm } from '../rest/validate.ts';
import { readJson } from './exchange.ts';

/**
 * Most files of one request.
 *
 * @source https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json, `MessageCreateRequest`; the bound
 * of `attachments`
 */
const FILES_MAX = 10;
const FIELDS_MAX = 32;
const HEADER_BYTES_MAX = 8 << 10;
const HEADER_PAIRS_MAX = 16;
const FILENAME_LENGTH_MAX = 260;

/** The content of a form: the JSON of `payload_json`, or else the plain fields. */
type ReadForm =
  | { readonly ok: true; readonly body: unknown; readonly files: readonly Upload[] }
  | { readonly ok: false; readonly refusal: Refusal };

/** Reads a form while it arrives. */
interface FormReader {
  write(chunk: Uint8Array): void;
  /** Call once, after the last chunk. Never rejects. */
  end(): Promise<ReadForm>;
}

const malformed = (message: string): Refusal =>
  invalidForm({ _errors: [{ code: 'MULTIPART_INVALID', message }] });

/**
 * Reads multipart/form-data with bounds on files, bytes per file, fields, and headers per part. The first error
 * determines the answer; parts after it are dropped.
 *
 * @param fileBytesMax  Bytes of one file; a larger one is refused with 40005.
 * @param fieldBytesMax Bytes of one field, `payload_json` included; a larger one is refused with 40005 too.
 */
export function createFormReader(
  contentType: string,
  fileBytesMax: number,
  fieldBytesMax: number,
): FormReader {
  let wrong: Refusal | null = null;
  const refuse = (no: Refusal) => {
    wrong ??= no;
  };
  const boy = open(contentType, { fileSize: fileBytesMax, fieldSize: fieldBytesMax }, refuse);
  if (boy === null) {
    const no = malformed('The multipart boundary is missing or not valid.');
    return { write: () => {}, end: async () => ({ ok: false, refusal: no }) };
  }
  const parts = collect(boy, refuse);
  const finished = new Promise<void>((resolve) => {
    boy.on('finish', resolve);
    boy.on('error', () => {
      refuse(malformed('The multipart form is not valid.'));
      resolve();
    });
  });
  return {
    write(chunk) {
      if (wrong === null) boy.write(chunk);
    },
    async end() {
      if (wrong === null) {
        boy.end();
        await finished;
      }
      return wrong === null ? formOf(parts) : { ok: false, refusal: wrong };
    },
  };
}

function open(
  contentType: string,
  sizes: { readonly fileSize: number; readonly fieldSize: number },
  refuse: (no: Refusal) => void,
): BusboyInstance | null {
  try {
    const boy = new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        ...sizes,
        files: FILES_MAX,
        fields: FIELDS_MAX,
        parts: FILES_MAX + FIELDS_MAX,
        headerPairs: HEADER_PAIRS_MAX,
        headerSize: HEADER_BYTES_MAX,
      },
    });
    boy.on('filesLimit', () => refuse(refusal('MAXIMUM_ATTACHMENTS')));
    boy.on('fieldsLimit', () => refuse(malformed('The form has too many fields.')));
    boy.on('partsLimit', () => refuse(malformed('The form has too many parts.')));
    return boy;
  } catch {
    // The parser throws for a Content-Type without a usable boundary, which is an error of the client.
    return null;
  }
}

interface FormParts {
  readonly fields: Map<string, string>;
  readonly files: Upload[];
}

function collect(boy: BusboyInstance, refuse: (no: Refusal) => void): FormParts {
  const parts: FormParts = { fields: new Map(), files: [] };
  boy.on('field', (name, value, _nameTruncated, truncated) => {
    if (name === undefined) return refuse(malformed('A part of the form has no name.'));
    if (truncated) return refuse(refusal('PAYLOAD_TOO_LARGE'));
    parts.fields.set(name, value);
  });
  boy.on('file', (name, stream, filename, _encoding, type) => {
    const position = parts.files.length;
    const file = { field: name ?? '', filename: named(filename), contentType: type, bytes: NOTHING };
    parts.files.push(file);
    collectFile(stream, refuse, (bytes) => {
      parts.files[position] = { ...file, bytes };
    });
    if (name === undefined) refuse(malformed('A part of the form has no name.'));
    else if (parts.files.some((other, index) => other.field === name && index < position))
      refuse(malformed('Two files of the form have the same name.'));
  });
  return parts;
}

const NOTHING = new Uint8Array(0);

function collectFile(
  stream: BusboyFileStream,
  refuse: (no: Refusal) => void,
  done: (bytes: Uint8Array) => void,
): void {
  let chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('limit', () => {
    chunks = [];
    refuse(refusal('PAYLOAD_TOO_LARGE'));
  });
  stream.on('error', () => refuse(malformed('A file of the form ends too early.')));
  stream.on('end', () => done(Buffer.concat(chunks)));
}

/** The file name to keep: without control characters or lone surrogates, never empty. */
function named(filename: string | undefined): string {
  const clean = (filename ?? '')
    // The HTML standard escapes a quote in a form's file name like this.
    .replaceAll('%22', '"')
    .replace(/[\p{Cc}\p{Cs}]/gu, '')
    .slice(0, FILENAME_LENGTH_MAX);
  return clean === '' || clean === '.' || clean === '..' ? 'unknown.bin' : clean;
}

function formOf({ fields, files }: FormParts): ReadForm {
  const payload = fields.get('payload_json');
  if (payload === undefined) return { ok: true, body: Object.fromEntries(fields), files };
  const read = readJson(Buffer.from(payload, 'utf8'));
  return read.ok ? { ok: true, body: read.value, files } : read;
}
