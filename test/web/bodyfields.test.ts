// Goal: the API explorer says which fields a body has, from the declarations that the server checks it with.
import { describe, expect, test } from 'vitest';
import { bodyFields, bodyOutline } from '../../web/console/bodyfields.ts';

const bodyOf = (schema: object) => ({ content: { 'application/json': { schema } } });
const fieldsOf = (properties: object, required: readonly string[] = [], schemas: object = {}) =>
  bodyFields({ components: { schemas } }, bodyOf({ type: 'object', properties, required }));

describe('the fields of a body', () => {
  test.each([
    [{ type: 'string', minLength: 2, maxLength: 100 }, 'string, 2–100 characters'],
    [{ type: ['string', 'null'], minLength: 0, maxLength: 1024 }, 'string, at most 1024 characters or null'],
    [{ type: 'string', format: 'snowflake', pattern: '^[0-9]+$' }, 'id'],
    [{ type: ['integer', 'null'], enum: [0, 1, null] }, 'one of 0, 1 or null'],
    [{ type: 'integer', minimum: 0, maximum: 2147483647 }, 'integer'],
    [{ type: 'number', minimum: 1 }, 'number, at least 1'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'array', maxItems: 3, items: { type: 'string' } }, 'list of string; at most 3 items'],
    [
      { anyOf: [{ type: 'integer' }, { type: 'string', maxLength: 25 }] },
      'integer or string, at most 25 characters',
    ],
    [{}, 'any value'],
  ])('%j is shown as %s', (schema, what) => {
    expect(fieldsOf({ name: schema })).toEqual([{ name: 'name', what, isRequired: false }]);
  });

  test('follow references, but not one that leads to itself', () => {
    const schemas = { Name: { type: 'string', maxLength: 9 }, Loop: { $ref: '#/components/schemas/Loop' } };
    const fields = fieldsOf(
      { name: { $ref: '#/components/schemas/Name' }, loop: { $ref: '#/components/schemas/Loop' } },
      [],
      schemas,
    );
    expect(fields.map(({ what }) => what)).toEqual(['string, at most 9 characters', 'any value']);
  });

  test('are listed with the required ones first, which make the outline of the body', () => {
    const fields = fieldsOf({ topic: { type: 'string' }, name: { type: 'string' } }, ['name']);
    expect(fields.map(({ name }) => name)).toEqual(['name', 'topic']);
    expect(JSON.parse(bodyOutline(fields))).toEqual({ name: '<string>' });
  });

  test('do not exist for an operation without a JSON body', () => {
    for (const body of [undefined, {}, { content: { 'multipart/form-data': {} } }])
      expect(bodyFields({}, body)).toEqual([]);
  });
});
