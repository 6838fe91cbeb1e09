import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

type Json = Readonly<Record<string, unknown>>;

/** An entry of the table: how `structureOf` in scripts/published.mjs writes a schema. */
type Structure = string | boolean | readonly [Structure] | Json;

interface OperationEntry {
  readonly at: string;
  readonly path?: Readonly<Record<string, Structure>>;
  readonly query?: Readonly<Record<string, Structure>>;
  /** Types of content that the body may have. */
  readonly media?: readonly string[];
  readonly body?: Structure;
  readonly 'body?'?: Structure;
  /** By status, with the type of the content where that is not JSON. */
  readonly responses: Readonly<Record<string, Structure | null>>;
}

interface PublishedTable {
  readonly source: string;
  readonly licence: string;
  readonly date: string;
  readonly refusals: Readonly<Record<string, string>>;
  readonly operations: Readonly<Record<string, OperationEntry>>;
  readonly schemas: Readonly<Record<string, Structure>>;
}

/** The structure of the platform's OpenAPI file: paths, parameters, types, required fields, enums and bounds. */
export const PUBLISHED_FILE = join(ROOT, 'test/conformance/published.json');

const JSON_TYPE = 'application/json';

/** `SnowflakeType?`: a named schema, or null. */
function reference(text: string): Json {
  const $ref = `#/components/schemas/${text.replace('?', '')}`;
  return text.endsWith('?') ? { oneOf: [{ type: 'null' }, { $ref }] } : { $ref };
}

/** `string?:uri 1..100`: a type, whether null is one of its values, its format and its bounds. */
function scalar(text: string): Json {
  const [head = '', range] = text.split(' ');
  const [written = '', format] = head.split(':');
  const type = written.replace('?', '');
  const keys = type === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
  const bounds = (range?.split('..') ?? []).map((bound, at) => [keys[at], Number(bound), bound] as const);
  return {
    type: written === type ? type : [type, 'null'],
    ...(format !== undefined && { format }),
    ...Object.fromEntries(bounds.flatMap(([key, value, bound]) => (bound === '' ? [] : [[key, value]]))),
  };
}

/** A JSON Schema of an entry: the inverse of `structureOf`. */
export function schemaOf(entry: Structure): Json {
  if (typeof entry === 'boolean') return entry as never;
  if (typeof entry === 'string') return /^[A-Z]/.test(entry) ? reference(entry) : scalar(entry);
  if (Array.isArray(entry)) return { type: 'array', items: schemaOf(entry[0]) };
  return Object.fromEntries(
    Object.entries(entry).flatMap(([key, value]) => keywordOf(key, value, entry as Json)),
  );
}

/** A keyword as an entry has it, as one or more keywords of a JSON Schema. */
function keywordOf(key: string, value: unknown, { type = 'object' }: Json): [string, unknown][] {
  if (key === 'items' || key === 'additionalProperties') return [[key, schemaOf(value as Structure)]];
  if (key === 'oneOf' || key === 'anyOf' || key === 'allOf')
    return [[key, (value as Structure[]).map(schemaOf)]];
  if (key !== 'properties') return [[key, value]];
  const fields = Object.entries(value as Record<string, Structure>);
  const required = fields.map(([name]) => name).filter((name) => !name.endsWith('?'));
  const properties = Object.fromEntries(
    fields.map(([name, field]) => [name.replace(/\?$/, ''), schemaOf(field)]),
  );
  return [
    ['type', type],
    [key, properties],
    ...(required.length > 0 ? [['required', required] as [string, unknown]] : []),
  ];
}

const contentOf = (media: string, entry: Structure) => ({ [media]: { schema: schemaOf(entry) } });

function parametersOf({ path = {}, query = {} }: OperationEntry): Json[] {
  return Object.entries({ path, query }).flatMap(([place, fields]) =>
    Object.entries(fields).map(([name, entry]) => ({
      ...{ name: name.replace(/\?$/, ''), in: place, schema: schemaOf(entry) },
      required: !name.endsWith('?'),
    })),
  );
}

function operationOf(id: string, entry: OperationEntry, refusals: PublishedTable['refusals']): Json {
  const body = entry.body ?? entry['body?'];
  const [media = JSON_TYPE] = entry.media ?? [];
  const responses = Object.entries({ ...refusals, ...entry.responses }).map(([key, each]) => {
    const [status = '', type = JSON_TYPE] = key.split(' ');
    return [status, each === null ? {} : { content: contentOf(type, each) }];
  });
  return {
    operationId: id,
    parameters: parametersOf(entry),
    ...(body !== undefined && {
      requestBody: { content: contentOf(media, body), required: entry.body !== undefined },
    }),
    responses: Object.fromEntries(responses),
  };
}

export const publishedTable = (): PublishedTable => JSON.parse(readFileSync(PUBLISHED_FILE, 'utf8'));

/** The table as an OpenAPI document, without the texts of the platform's own. */
export function publishedDocument({ refusals, operations, schemas }: PublishedTable) {
  const paths: Record<string, Record<string, Json>> = {};
  for (const [id, entry] of Object.entries(operations)) {
    const [method = '', path = ''] = entry.at.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(id, entry, refusals) };
  }
  const named = Object.entries(schemas).map(([name, entry]) => [name, schemaOf(entry)] as const);
  return { paths, components: { schemas: Object.fromEntries(named) as Record<string, Json> } };
}
