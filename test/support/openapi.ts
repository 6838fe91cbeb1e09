import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import { SCOPES } from '../../protocol/scopes.ts';
import { publishedDocument, publishedTable } from './published.ts';

interface SpecOperation {
  readonly operationId: string;
  readonly method: string;
  /** Parameters as `:name`. */
  readonly path: string;
  /** `200`, `204`, `4XX` and so on. */
  readonly statuses: readonly string[];
  readonly responses: Readonly<Record<string, object>>;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Where the file is stricter than what the platform itself sends, by the pointer of the schema that is loosened.
 * Each is a deviation of the file, not of this server.
 */
const LOOSENED: readonly {
  readonly schema: string;
  readonly why: string;
  change(schema: Json): Json;
}[] = [
  {
    schema: 'InnerErrors',
    why: 'The leaves of a 50035 have text codes (BASE_TYPE_REQUIRED) in the documentation; the file says integers.',
    change: (schema) => ({
      ...schema,
      properties: { _errors: { type: 'array', items: leaf({ type: 'string' }) } },
    }),
  },
  {
    schema: 'OAuth2Scopes',
    why: 'The file lists the public scopes; those of the Social SDK (lobbies.write, gateway.connect …) are granted as well.',
    change: () => ({ type: 'string', enum: Object.keys(SCOPES) }),
  },
  {
    schema: 'MessageReferenceType',
    why: 'The documentation lists FORWARD (1); the file leaves it out.',
    change: () => ({ type: 'integer', enum: [0, 1] }),
  },
  {
    schema: 'ChannelTypes',
    why: 'The documentation lists GUILD_MEDIA (16) among the types of a channel; the file leaves it out.',
    change: () => ({ type: 'integer', enum: Object.values(CHANNEL) }),
  },
];
const leaf = (code: Json): Json => ({
  type: 'object',
  properties: { code, message: { type: 'string' } },
  required: ['code', 'message'],
});

const integerOf = (bits: bigint) => ({
  type: 'number' as const,
  validate: (value: number) => Number.isInteger(value) && Math.abs(value) <= Number(1n << (bits - 1n)),
});
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Meanings of the formats by name. */
const FORMATS = {
  int32: integerOf(32n),
  int64: integerOf(64n),
  double: { type: 'number' as const, validate: Number.isFinite },
  'date-time': (text: string) => TIME.test(text) && !Number.isNaN(Date.parse(text)),
  uri: (text: string) => !/\s/.test(text) && URL.canParse(text),
  snowflake: (text: string) => /^\d{1,20}$/.test(text) && BigInt(text) < 1n << 64n,
  nonce: true as const,
};

let document: {
  readonly spec: Json;
  readonly ajv: Ajv2020;
  readonly operations: Map<string, SpecOperation>;
} | null = null;

function load() {
  if (document) return document;
  const table = publishedTable();
  const spec = publishedDocument(table);
  for (const { schema, change } of LOOSENED) {
    const before = spec.components.schemas[schema];
    if (!before) throw new Error(`The file has no schema "${schema}" to loosen.`);
    spec.components.schemas[schema] = change(before);
  }
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
  ajv.addSchema(spec, 'spec');
  const operations = new Map<string, SpecOperation>();
  for (const [operationId, { at }] of Object.entries(table.operations)) {
    const [method = '', path = ''] = at.split(' ');
    const { responses } = spec.paths[path]![method.toLowerCase()] as { responses: Record<string, object> };
    operations.set(operationId, {
      ...{ operationId, method, path: path.replace(/\{(\w+)\}/g, ':$1') },
      ...{ statuses: Object.keys(responses), responses },
    });
  }
  document = { spec, ajv, operations };
  return document;
}

/** Every operation of the file, by operationId. */
export const specOperations = (): ReadonlyMap<string, SpecOperation> => load().operations;

/** The whole file. */
export const specDocument = (): Json => load().spec;

const checkers = new Map<string, ValidateFunction | null>();

/** The checker of one answer; null when the file names the status without a body. Undefined: status not named. */
function checkerOf(operationId: string, status: number): ValidateFunction | null | undefined {
  const { ajv, operations } = load();
  const operation = operations.get(operationId);
  if (!operation) throw new Error(`The file has no operation "${operationId}".`);
  const key = [String(status), `${Math.floor(status / 100)}XX`].find((each) => each in operation.responses);
  if (key === undefined) return undefined;
  const name = `${operationId} ${key}`;
  const known = checkers.get(name);
  if (known !== undefined) return known;
  const schema = contentOf(operation.responses[key] ?? {});
  const checker = schema === null ? null : ajv.compile(rooted(schema) as object);
  checkers.set(name, checker);
  return checker;
}

/** The JSON schema of a response object. */
function contentOf(response: object): unknown {
  const { content } = response as { content?: Record<string, { schema?: unknown }> };
  // A file has one type, and its bytes are a string to the schema.
  return (content?.['application/json'] ?? Object.values(content ?? {})[0])?.schema ?? null;
}

/** The same schema with its references pointing into the whole file. */
function rooted(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rooted);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string' ? value.replace(/^#/, 'spec#') : rooted(value),
    ]),
  );
}

/**
 * Checks an answer against the file. Empty when it fits.
 *
 * @param body What was answered; undefined for no body.
 */
export function validateResponse(operationId: string, status: number, body: unknown): string[] {
  const checker = checkerOf(operationId, status);
  if (checker === undefined) return [`${operationId}: the file names no status ${status}`];
  if (checker === null)
    return body === undefined || body === null ? [] : [`${operationId}: ${status} has a body`];
  if (checker(body)) return [];
  return (checker.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${operationId} ${status} ${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  );
}

/**
 * Checks a value against a schema that names schemas of the file (`spec#/components/schemas/…`). Empty when it fits.
 */
export function validateWith(schema: object, value: unknown, where: string): string[] {
  const { ajv } = load();
  // Ajv keeps what it has compiled by the schema object.
  const checker = ajv.compile(schema);
  if (checker(value)) return [];
  return (checker.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${where} ${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  );
}

/** Checks a value against a schema of the file by its name. Empty when it fits. */
export function validateAs(schema: string, value: unknown, where: string): string[] {
  const { ajv, spec } = load();
  const schemas = (spec.components as { schemas: Json }).schemas;
  if (!(schema in schemas)) throw new Error(`The file has no schema "${schema}".`);
  const name = `schema ${schema}`;
  const checker = checkers.get(name) ?? ajv.compile({ $ref: `spec#/components/schemas/${schema}` });
  checkers.set(name, checker);
  if (checker(value)) return [];
  return (checker.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${where} as ${schema}: ${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  );
}
