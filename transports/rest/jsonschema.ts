import type { Form, TSchema } from '../../protocol/schemas/request.ts';
import { asSchemaNode, type SchemaNode, valuesOf } from './schemanode.ts';

/** A JSON Schema of the 2020-12 dialect, which OpenAPI 3.1 uses. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The forms of `protocol/schemas/request.ts` in JSON Schema. The pattern of a snowflake is the pattern of the
 * platform's own file.
 */
const FORMS: Readonly<Record<Form, JsonSchema>> = {
  snowflake: { format: 'snowflake', pattern: '^(0|[1-9][0-9]*)$' },
  permissions: { type: ['string', 'integer'], pattern: '^[0-9]{1,20}$', description: 'A permission set.' },
  timestamp: { format: 'date-time' },
  image: { pattern: '^data:image/(png|jpe?g|gif|webp);base64,', description: 'An image as a data URI.' },
  name: {},
  url: { format: 'uri' },
};

/** Keywords that mean the same in both and are copied. */
const COPIED = [
  ...(['type', 'description', 'minLength', 'maxLength', 'minimum', 'maximum'] as const),
  ...(['minItems', 'maxItems', 'maxProperties', 'const'] as const),
];

/** The JSON Schema of a request schema, without the annotations of `protocol/schemas/request.ts`. */
export const jsonSchemaOf = (schema: TSchema): JsonSchema => converted(asSchemaNode(schema));

function converted(node: SchemaNode): JsonSchema {
  if (node.anyOf) return union(node.anyOf);
  const copied = Object.fromEntries(
    COPIED.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]),
  );
  const form = node.form ? FORMS[node.form] : {};
  if (node.enum) return { type: typeOf(node.enum), enum: [...node.enum] };
  const values = valuesOf(node);
  return {
    ...copied,
    ...form,
    ...(node.items ? { items: converted(node.items) } : {}),
    ...(node.properties ? objectOf(node.properties, node.required ?? []) : {}),
    ...(values ? { additionalProperties: converted(values) } : {}),
  };
}

function objectOf(properties: Readonly<Record<string, SchemaNode>>, required: readonly string[]): JsonSchema {
  const children = Object.entries(properties).map(([key, child]) => [key, converted(child)]);
  return {
    properties: Object.fromEntries(children),
    ...(required.length > 0 ? { required: [...required] } : {}),
  };
}

export const typeOf = (values: readonly unknown[]): string | string[] => {
  const types = new Set(values.map((value) => (typeof value === 'number' ? 'integer' : typeof value)));
  const [first = 'string'] = types;
  return types.size === 1 ? first : [...types];
};

/** A value or null is written as a list of types, as the platform's own file writes it, where that is possible. */
function union(branches: readonly SchemaNode[]): JsonSchema {
  const isNullable = branches.some(({ type }) => type === 'null');
  // JSON has no bigint: it is an integer, which mostly stands beside it.
  const others = branches.filter(({ type }) => type !== 'null' && type !== 'bigint');
  const values = others.map(converted);
  return isNullable ? orNull(values) : oneOf(values);
}

const oneOf = (values: readonly JsonSchema[]): JsonSchema =>
  values.length === 1 && values[0] ? values[0] : { anyOf: values };

/** One of the schemas, or null. */
export function orNull(values: readonly JsonSchema[]): JsonSchema {
  const [only, ...others] = values;
  if (others.length > 0 || only?.type === undefined) return { anyOf: [...values, { type: 'null' }] };
  const listed = Array.isArray(only.enum) ? { enum: [...only.enum, null] } : {};
  return { ...only, type: [only.type, 'null'].flat(), ...listed };
}

/** Objects shorter than this are written where they are used. */
const SHARED_CHARS_MIN = 240;

/**
 * Moves objects that occur several times to `components.schemas`, so that a schema has one name and is written once.
 *
 * @param wanted Schemas by the names that they have when they are shared.
 * @returns the same schemas with references, and the shared ones by name.
 */
export function shareSchemas(wanted: ReadonlyMap<string, JsonSchema>): {
  readonly schemas: ReadonlyMap<string, JsonSchema>;
  readonly shared: Readonly<Record<string, JsonSchema>>;
} {
  const uses = new Map<string, number>();
  for (const schema of wanted.values()) countObjects(schema, uses);
  const names = new Map<string, string>();
  const shared: Record<string, JsonSchema> = {};

  function replaced(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return value.map((each, index) => replaced(each, `${name}${index + 1}`));
    if (!isNode(value)) return value;
    const text = isSharable(value) ? JSON.stringify(value) : null;
    if (text === null || (uses.get(text) ?? 0) < 2) return inside(value, name);
    const known = names.get(text) ?? name;
    if (!names.has(text)) {
      names.set(text, known);
      shared[known] = inside(value, known);
    }
    return { $ref: `#/components/schemas/${known}` };
  }

  const inside = (value: JsonSchema, name: string): JsonSchema =>
    Object.fromEntries(
      Object.entries(value).map(([key, child]) => [
        key,
        key === 'properties' && isNode(child)
          ? Object.fromEntries(
              Object.entries(child).map(([field, each]) => [
                field,
                replaced(each, `${name}${pascal(field)}`),
              ]),
            )
          : replaced(child, key === 'items' ? `${name}Item` : name),
      ]),
    );

  const schemas = new Map<string, JsonSchema>();
  for (const [name, schema] of wanted) {
    const result = replaced(schema, name);
    schemas.set(name, isNode(result) ? result : schema);
  }
  return { schemas, shared };
}

/** Counts each distinct object once per place, without the objects inside one that was counted before. */
function countObjects(value: unknown, uses: Map<string, number>): void {
  if (Array.isArray(value)) {
    for (const each of value) countObjects(each, uses);
    return;
  }
  if (!isNode(value)) return;
  if (isSharable(value)) {
    const text = JSON.stringify(value);
    const count = uses.get(text) ?? 0;
    uses.set(text, count + 1);
    if (count > 0) return;
  }
  for (const child of Object.values(value)) countObjects(child, uses);
}

const isNode = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSharable = (value: JsonSchema): boolean =>
  isNode(value.properties) && 'type' in value && JSON.stringify(value).length >= SHARED_CHARS_MIN;

/** `create_guild_role` as `CreateGuildRole`, for names of schemas. */
export const pascal = (name: string): string =>
  name.replace(/(?:^|[^a-zA-Z0-9]+)([a-zA-Z0-9]?)/g, (_, first: string) => first.toUpperCase());
