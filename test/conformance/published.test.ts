// Goal: the table of the published file's structure is whole and reads back as it was written, and where the file itself is
// there, it gives the same table.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../transports/rest/operations.generated.ts';
import { PUBLISHED_FILE, publishedDocument, publishedTable, schemaOf } from '../support/published.ts';
import { ROOT } from '../support/root.ts';

type Json = Readonly<Record<string, unknown>>;
interface Script {
  structureOf(schema: unknown): Json;
  tableOf(file: unknown): Json;
  textOf(table: unknown): string;
}
const script: Script = await import(pathToFileURL(join(ROOT, 'scripts/published.mjs')).href);
const text = readFileSync(PUBLISHED_FILE, 'utf8');
const table = publishedTable();

describe('the table of the published file', () => {
  test('names its source, its licence and its date', () => {
    expect(table).toMatchObject({
      source: expect.stringMatching(/^https:\/\/.* at commit [0-9a-f]{7}$/),
      licence: expect.stringContaining('MIT'),
      date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
    });
  });

  test('has 242 operations, the same ones as the server lists, and 539 schemas', () => {
    const lines = Object.entries(table.operations).map(
      ([id, { at }]) => `${id} ${at.replace(/\{(\w+)\}/g, ':$1')}`,
    );
    expect(lines.sort()).toEqual([...OPERATIONS]);
    expect(lines).toHaveLength(242);
    expect(Object.keys(table.schemas)).toHaveLength(539);
  });

  test('contains no text of the platform: no key of a schema is a description, title or example', () => {
    const keys = new Set<string>();
    const visit = (value: unknown, isSchema: boolean): void => {
      if (Array.isArray(value)) for (const each of value) visit(each, isSchema);
      else if (typeof value === 'object' && value !== null)
        for (const [key, each] of Object.entries(value)) {
          if (isSchema) keys.add(key);
          visit(each, key !== 'properties');
        }
    };
    for (const entry of Object.values(table.schemas)) visit(entry, true);
    expect([...keys].filter((key) => /description|title|example|summary/.test(key))).toEqual([]);
  });

  test('reads as an OpenAPI document that gives the same table again', () => {
    const document = publishedDocument(table);
    for (const [name, entry] of Object.entries(table.schemas))
      expect(script.structureOf(document.components.schemas[name]), name).toEqual(entry);
    expect(script.textOf(table)).toBe(text);
  });

  const FILE = join(ROOT, '../shared/spec/openapi.json');
  // The file is not part of the repository; without it there is nothing to compare, and all other tests run all the same.
  if (existsSync(FILE))
    test('is what the file beside the repository gives', () => {
      expect(script.textOf(script.tableOf(JSON.parse(readFileSync(FILE, 'utf8'))))).toBe(text);
    });
});

const bounds = fc.record(
  { least: fc.integer({ min: 0, max: 9 }), most: fc.integer({ min: 10, max: 99 }) },
  { requiredKeys: [] },
);
const scalar = fc
  .tuple(fc.constantFrom('string', 'integer', 'number', 'boolean'), fc.boolean(), bounds)
  .map(([type, isNullable, { least, most }]) => {
    const [low, high] = type === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
    return {
      type: isNullable ? [type, 'null'] : type,
      ...(least !== undefined && { [low!]: least }),
      ...(most !== undefined && { [high!]: most }),
    };
  });
const named = fc
  .constantFrom('User', 'SnowflakeType')
  .map((name) => ({ $ref: `#/components/schemas/${name}` }));
const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    scalar,
    named,
    named.map((one) => ({ oneOf: [{ type: 'null' }, one] })),
    fc.constant({ type: 'string', enum: ['a', 'b'] }),
    tie('schema').map((items) => ({ type: 'array', items })),
    tie('schema').map((items) => ({ type: ['array', 'null'], items, maxItems: 3, uniqueItems: true })),
    fc.array(tie('schema'), { minLength: 2, maxLength: 3 }).map((oneOf) => ({ oneOf })),
    fc.tuple(tie('schema'), tie('schema'), fc.boolean()).map(([id, name, isNullable]) => ({
      type: isNullable ? ['object', 'null'] : 'object',
      properties: { id, name },
      required: ['id'],
      additionalProperties: false,
    })),
  ),
}));

test('any schema of the notation reads back as it was, and its titles and descriptions are dropped', () => {
  fc.assert(
    fc.property(schema, (given) => {
      expect(schemaOf(script.structureOf(given) as never)).toEqual(given);
      const told = { ...given, description: 'Text', title: 'Name' };
      expect(script.structureOf(told)).toEqual(script.structureOf(given));
    }),
  );
});
