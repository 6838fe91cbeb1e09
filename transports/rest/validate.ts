import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ErrorTree, Refusal } from '../../protocol/refusal.ts';
import { refusal } from '../../protocol/refusal.ts';
import { coerce } from './coerce.ts';
import { explain } from './explain.ts';
import { asSchemaNode, type SchemaNode } from './schemanode.ts';

/** A validated part of a request, with only the known keys, or the platform's error 50035. */
export type Validate<Value = unknown> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Compiles a schema into a reader. The reader coerces the value (drops unknown keys, accepts the other spellings that the
 * platform accepts), validates it with the compiled checker, and walks the schema again only to explain a refusal.
 *
 * @param text True for query strings, in which every value is text.
 * @throws Error when the schema uses a keyword that `explain` does not support; thrown at start-up, never during a request.
 */
export function compileValidator<S extends TSchema>(
  schema: S,
  text = false,
): (value: unknown) => Validate<Static<S>> {
  const node = asSchemaNode(schema);
  checkSupported(node, '#');
  const checker = Compile(schema);
  return (value) => {
    const shaped = coerce(node, value, text);
    if (checker.Check(shaped)) return { ok: true, value: shaped };
    return { ok: false, refusal: invalidForm(explain(node, shaped) ?? UNEXPLAINED) };
  };
}

/** The refusal 50035 with an error tree. */
export function invalidForm(errors: ErrorTree): Refusal {
  return { ...refusal('INVALID_FORM_BODY'), errors };
}

/** Fallback for a refusal that `explain` cannot explain. A property test checks that this never happens. */
const UNEXPLAINED: ErrorTree = {
  _errors: [{ code: 'BASE_TYPE_INVALID', message: 'This value is not valid.' }],
};

const SUPPORTED = new Set([
  'type',
  'form',
  'description',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'maxProperties',
  'items',
  'properties',
  'required',
  'patternProperties',
  'additionalProperties',
  'anyOf',
  'enum',
  'const',
]);

function checkSupported(node: SchemaNode, where: string): void {
  for (const key of Object.keys(node)) {
    if (!SUPPORTED.has(key) && !key.startsWith('~'))
      throw new Error(`Schema keyword "${key}" at ${where} is not part of the vocabulary of schema.ts.`);
  }
  for (const [key, child] of Object.entries(node.properties ?? {})) checkSupported(child, `${where}/${key}`);
  for (const child of node.anyOf ?? []) checkSupported(child, `${where}/anyOf`);
  if (node.items) checkSupported(node.items, `${where}/items`);
  if (node.patternProperties) {
    for (const child of Object.values(node.patternProperties)) checkSupported(child, `${where}/*`);
  }
}
