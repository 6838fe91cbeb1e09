// Reduces the platform's OpenAPI file to its structure, once for each version of the file:
//   node scripts/published.mjs ../shared/spec/openapi.json
// It writes the table that the conformance tests read, and the list of operations that the server reads.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The version of the file from which the table was made. */
const SOURCE = {
  source: 'https://github.com/discord/discord-api-spec, specs/openapi.json at commit 74fda0f',
  licence: 'MIT, Copyright 2023 Discord',
  date: '2026-07-18',
};

/** Keywords kept of a schema beside references, objects and arrays. Descriptions and titles are not. */
const KEPT = [
  ...[
    'type',
    'enum',
    'format',
    'pattern',
    'const',
    'minLength',
    'maxLength',
    'minimum',
    'maximum',
    'minItems',
    'maxItems',
  ],
  ...['uniqueItems', 'minProperties', 'maxProperties'],
];
/** Keywords whose value is text for people or for generators of code. */
const DROPPED = ['description', 'title', 'contentEncoding', 'x-discord-union'];
const NESTED = ['items', 'additionalProperties'];
const ALTERNATIVES = ['oneOf', 'anyOf', 'allOf'];
const SCALAR = ['type', 'format', 'minLength', 'maxLength', 'minimum', 'maximum'];

/** The last part of `#/components/schemas/Name`. */
const nameOf = (ref) => ref.slice(ref.lastIndexOf('/') + 1);
const isNull = (schema) => Object.keys(schema).length === 1 && schema.type === 'null';

/** `string? 1..100`: a scalar with its format and bounds; null where a schema says more. */
function scalarText(schema) {
  const { type, format } = schema;
  const [only, ...others] = [type].flat();
  const isPlain = others.length === 0 || (others.length === 1 && others[0] === 'null');
  if (only === undefined || only === 'array' || only === 'object' || !isPlain) return null;
  if (!Object.keys(schema).every((key) => SCALAR.includes(key))) return null;
  const [least, most] = only === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
  const isBounded = schema[least] !== undefined || schema[most] !== undefined;
  const bounds = isBounded ? ` ${schema[least] ?? ''}..${schema[most] ?? ''}` : '';
  return `${only}${others.length > 0 ? '?' : ''}${format ? `:${format}` : ''}${bounds}`;
}

/** Fields by name; the name of one that may be left out ends with `?`. */
const fieldsOf = (properties, required = []) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      required.includes(name) ? name : `${name}?`,
      structureOf(field),
    ]),
  );

/** A schema as the table has it: `test/support/published.ts` reads it back. */
export function structureOf(given) {
  if (typeof given !== 'object') return given;
  const schema = Object.fromEntries(Object.entries(given).filter(([key]) => !DROPPED.includes(key)));
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  const text = scalarText(schema);
  if (text !== null) return text;
  const { type, items, oneOf } = schema;
  if (type === 'array' && Object.keys(schema).length === 2 && items) return [structureOf(items)];
  if (oneOf?.length === 2 && isNull(oneOf[0]) && oneOf[1].$ref && Object.keys(schema).length === 1)
    return `${nameOf(oneOf[1].$ref)}?`;
  return Object.fromEntries(Object.entries(schema).flatMap(([key, value]) => keywordOf(key, value, schema)));
}

/** The entry for a keyword: nothing, or a key with its value. */
function keywordOf(key, value, { type, properties, required }) {
  if (key === 'required' || (key === 'type' && type === 'object' && properties)) return [];
  if (key === 'oneOf' && value.every((each) => 'const' in each))
    return [['enum', value.map((each) => each.const)]];
  if (ALTERNATIVES.includes(key)) return [[key, value.map(structureOf)]];
  if (NESTED.includes(key)) return [[key, structureOf(value)]];
  if (key === 'properties') return [[key, fieldsOf(value, required)]];
  if (KEPT.includes(key)) return [[key, value]];
  throw new Error(`A schema has the keyword "${key}", which has no rule here.`);
}

/** A schema under its status, with the type of the content where that is not JSON. */
function responsesOf(responses) {
  const named = Object.entries(responses).filter(([, response]) => response.$ref === undefined);
  return Object.fromEntries(
    named.map(([status, { content }]) => {
      const [[media, { schema }] = ['application/json', {}]] = Object.entries(content ?? {});
      const key = media === 'application/json' ? status : `${status} ${media}`;
      return [key, schema === undefined ? null : structureOf(schema)];
    }),
  );
}

function operationOf(place, shared, { parameters = [], requestBody, responses }) {
  const row = { at: place };
  for (const { name, in: where, required, schema } of [...shared, ...parameters]) {
    row[where] ??= {};
    row[where][required === true ? name : `${name}?`] = structureOf(schema);
  }
  if (requestBody) {
    const contents = Object.entries(requestBody.content);
    row.media = contents.map(([media]) => media);
    // An operation with several types of content has the same fields in all of them; later types add files.
    row[requestBody.required === true ? 'body' : 'body?'] = structureOf(contents[0][1].schema);
  }
  row.responses = responsesOf(responses);
  const refusals = Object.keys(responses).filter((status) => responses[status].$ref !== undefined);
  if (refusals.sort().join() !== '429,4XX') throw new Error(`${place} has refusals of its own.`);
  return row;
}

/** The structure of the whole file: an entry for each operation and each schema. */
export function tableOf({ paths, components }) {
  const operations = {};
  for (const [path, { parameters = [], ...methods }] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods))
      operations[operation.operationId] = operationOf(
        `${method.toUpperCase()} ${path}`,
        parameters,
        operation,
      );
  const refusals = Object.entries({ 429: 'ClientRatelimitedResponse', '4XX': 'ClientErrorResponse' }).map(
    ([status, name]) => [status, structureOf(components.responses[name].content['application/json'].schema)],
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) => [name, structureOf(schema)]);
  return {
    ...SOURCE,
    refusals: Object.fromEntries(refusals),
    operations,
    schemas: Object.fromEntries(schemas),
  };
}

/** The table as text, one line for each entry, so that a new version of the file shows as changed lines. */
export function textOf({ operations, schemas, ...head }) {
  const lines = (entries) =>
    Object.keys(entries)
      .sort()
      .map((name) => `    ${JSON.stringify(name)}: ${JSON.stringify(entries[name])}`)
      .join(',\n');
  const first = Object.entries(head).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`,
  );
  return `{\n${first.join('')}  "operations": {\n${lines(operations)}\n  },\n  "schemas": {\n${lines(schemas)}\n  }\n}\n`;
}

/** The module of the server that lists every operation. */
function moduleOf({ operations }) {
  const lines = Object.entries(operations)
    .map(([id, { at }]) => `  '${id} ${at.replace(/\{(\w+)\}/g, ':$1')}',`)
    .sort();
  return `/**
 * Every operation of the platform's published HTTP interface, as \`operationId METHOD path\`; the server answers
 * 404 to those it has not built, and names them. Generated by scripts/published.mjs.
 */
export const OPERATIONS: readonly string[] = [
${lines.join('\n')}
];
`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = process.argv[2];
  if (file === undefined) throw new Error('Name the OpenAPI file.');
  const table = tableOf(JSON.parse(readFileSync(file, 'utf8')));
  writeFileSync(new URL('../test/conformance/published.json', import.meta.url), textOf(table));
  writeFileSync(new URL('../transports/rest/operations.generated.ts', import.meta.url), moduleOf(table));
}
