import type { Schema } from '../../protocol/schemas/schema.ts';
import { type JsonSchema, orNull, typeOf } from './jsonschema.ts';
import { asSchemaNode, type SchemaNode } from './schemanode.ts';

const COPIED = ['type', 'format', 'pattern'] as const;

/**
 * Reply schemas as JSON Schema. An object with a title is converted once and is in `shared` under the title; where it is used
 * stands a reference. Objects are open, so that a client made from the document survives a field that a later version adds.
 */
export function createReplySchemas() {
  const shared: Record<string, JsonSchema> = {};

  function converted(node: SchemaNode): JsonSchema {
    if (node.anyOf) return union(node.anyOf);
    if (node.enum) return { type: typeOf(node.enum), enum: [...node.enum] };
    if (node.title === undefined) return inside(node);
    if (!Object.hasOwn(shared, node.title)) {
      // Before its fields, which may contain it.
      shared[node.title] = {};
      shared[node.title] = inside(node);
    }
    return { $ref: `#/components/schemas/${node.title}` };
  }

  function union(branches: readonly SchemaNode[]): JsonSchema {
    const others = branches.filter(({ type }) => type !== 'null').map(converted);
    return others.length < branches.length ? orNull(others) : { anyOf: others };
  }

  function inside(node: SchemaNode): JsonSchema {
    const { properties = {}, required = [], items, additionalProperties: values } = node;
    const fields = Object.entries(properties).map(([name, field]) => [name, converted(field)] as const);
    return {
      ...Object.fromEntries(COPIED.flatMap((key) => (node[key] === undefined ? [] : [[key, node[key]]]))),
      ...(items && { items: converted(items) }),
      ...(fields.length > 0 && { properties: Object.fromEntries(fields) }),
      ...(required.length > 0 && { required: [...required] }),
      ...(typeof values === 'object' && { additionalProperties: converted(values) }),
    };
  }

  return { shared, of: (schema: Schema<unknown>): JsonSchema => converted(asSchemaNode(schema)) };
}
