import type { TSchema } from 'typebox';
import type { Form } from '../../protocol/schemas/request.ts';

/**
 * A schema as the functions that walk it use it: plain JSON Schema with the keywords that `protocol/schemas/request.ts`
 * produces for requests, and `protocol/schemas/schema.ts` for replies.
 */
export interface SchemaNode {
  readonly type?: string;
  readonly form?: Form;
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: SchemaNode;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaNode;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly '~refine'?: readonly { check(value: unknown): boolean }[];
}

/** A typebox schema is a JSON Schema object; its static type only hides the keywords. */
export const asSchemaNode = (schema: TSchema): SchemaNode => schema;

export type Dictionary = Readonly<Record<string, unknown>>;

/** The schema of a map's values; undefined when the node is not a map. */
export const valuesOf = (node: SchemaNode): SchemaNode | undefined =>
  node.patternProperties ? Object.values(node.patternProperties)[0] : undefined;
