import { isRecord } from '../../protocol/json.ts';
import { readLink } from '../../protocol/links.ts';
import { type ErrorTree, type FieldError, treeKey } from '../../protocol/refusal.ts';
import { wrongName } from '../../protocol/schemas/request.ts';
import { type Dictionary, type SchemaNode, valuesOf } from './schemanode.ts';

const leaf = (code: string, message: string): ErrorTree => ({ _errors: [{ code, message }] });
/** The 50035 leaf for a missing required field. */
export const REQUIRED = leaf('BASE_TYPE_REQUIRED', 'This field is required');

/**
 * Explains in the platform's error format where and how `value` violates its schema; undefined when it is valid.
 * Cost: O(size of the value within the schema's bounds); it runs only after the compiled checker has refused the value.
 */
export function explain(node: SchemaNode, value: unknown): ErrorTree | undefined {
  if (node.anyOf) return explainUnion(node.anyOf, value);
  if (node.enum) return explainChoice(node.enum, value);
  if ('const' in node) return explainChoice([node.const], value);
  if (node.type === 'null') return value === null ? undefined : leaf('BASE_TYPE_BAD_TYPE', 'Must be null.');
  if (node.type === undefined) return undefined;
  if (value === undefined || value === null) return REQUIRED;
  switch (node.type) {
    case 'object':
      return explainObject(node, value);
    case 'array':
      return explainList(node, value);
    case 'string':
      return explainString(node, value);
    case 'integer':
    case 'number':
      return explainNumber(node, value);
    default:
      return typeof value === 'boolean'
        ? undefined
        : leaf('BOOLEAN_TYPE_CONVERT', 'Must be either true or false.');
  }
}

/** The text of a value for an error message, shortened. */
function shown(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 64 ? `${value.slice(0, 64).replace(/[\uD800-\uDBFF]$/, '')}…` : value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  return value === null ? 'null' : Array.isArray(value) ? 'list' : 'object';
}

function explainChoice(choices: readonly unknown[], value: unknown): ErrorTree | undefined {
  if (choices.includes(value)) return undefined;
  if (value === undefined || value === null) return REQUIRED;
  return leaf(
    'BASE_TYPE_CHOICES',
    `Value must be one of {${choices.map((choice) => String(choice)).join(', ')}}.`,
  );
}

function explainString(node: SchemaNode, value: unknown): ErrorTree | undefined {
  if (typeof value !== 'string') {
    if (node.form === 'snowflake') return notSnowflake(value);
    return leaf('STRING_TYPE_CONVERT', `Could not interpret "${shown(value)}" as string.`);
  }
  if (node['~refine']?.some((refinement) => !refinement.check(value))) return explainForm(node, value);
  return explainLength(node, value);
}

/** The 50035 leaf for text that is not an id. */
export const notSnowflake = (value: unknown): ErrorTree =>
  leaf('NUMBER_TYPE_COERCE', `Value "${shown(value)}" is not snowflake.`);

function explainForm(node: SchemaNode, value: string): ErrorTree {
  switch (node.form) {
    case 'snowflake':
      return notSnowflake(value);
    case 'permissions':
      return leaf('NUMBER_TYPE_COERCE', `Value "${shown(value)}" is not int.`);
    case 'timestamp':
      return leaf('DATE_TIME_TYPE_PARSE', `Could not parse ${shown(value)}. Should be ISO8601.`);
    case 'name': {
      const problem = wrongName(value);
      return problem ? leaf(problem.code, problem.message) : outOfBounds(node.minLength ?? 0, node.maxLength);
    }
    case 'url': {
      const read = readLink(value, node.maxLength ?? 0);
      return read.ok
        ? leaf('BASE_TYPE_INVALID', 'This value is not valid.')
        : leaf(read.problem.code, read.problem.message);
    }
    case 'image':
      return leaf('IMAGE_INVALID', 'Invalid image data');
    default:
      return leaf('BASE_TYPE_INVALID', 'This value is not valid.');
  }
}

function explainLength(node: SchemaNode, value: string): ErrorTree | undefined {
  const { minLength: min = 0, maxLength: max } = node;
  const length = codePoints(value, max ?? min);
  if (length >= min && (max === undefined || length <= max)) return undefined;
  return outOfBounds(min, max);
}

function outOfBounds(min: number, max: number | undefined): ErrorTree {
  if (max === undefined) return leaf('BASE_TYPE_MIN_LENGTH', `Must be ${min} or more in length.`);
  if (min === 0) return leaf('BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
  return leaf('BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
}

/** Number of code points of `text`; stops counting at `enough` plus one. */
function codePoints(text: string, enough: number): number {
  if (text.length > enough * 2) return enough + 1;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function explainNumber(node: SchemaNode, value: unknown): ErrorTree | undefined {
  const kind = node.type === 'integer' ? 'int' : 'float';
  const fits = kind === 'int' ? Number.isInteger(value) : Number.isFinite(value);
  if (typeof value !== 'number' || !fits)
    return leaf('NUMBER_TYPE_COERCE', `Value "${shown(value)}" is not ${kind}.`);
  if (node.minimum !== undefined && value < node.minimum)
    return leaf('NUMBER_TYPE_MIN', `${kind} value should be greater than or equal to ${node.minimum}.`);
  if (node.maximum !== undefined && value > node.maximum)
    return leaf('NUMBER_TYPE_MAX', `${kind} value should be less than or equal to ${node.maximum}.`);
  return undefined;
}

function explainObject(node: SchemaNode, value: unknown): ErrorTree | undefined {
  if (!isRecord(value)) return leaf('MODEL_TYPE_CONVERT', 'Only dictionaries may be used in a ModelType');
  const values = valuesOf(node);
  if (values) return explainMap(node, values, value);
  const tree: ErrorTree = {};
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    const present = Object.hasOwn(value, key) && value[key] !== undefined;
    if (!present && !node.required?.includes(key)) continue;
    const error = present ? explain(child, value[key]) : REQUIRED;
    if (error) tree[key] = error;
  }
  return orNothing(tree);
}

function explainMap(node: SchemaNode, values: SchemaNode, value: Dictionary): ErrorTree | undefined {
  const entries = Object.entries(value);
  if (node.maxProperties !== undefined && entries.length > node.maxProperties)
    return outOfBounds(0, node.maxProperties);
  const tree: ErrorTree = {};
  for (const [key, child] of entries) {
    const error = explain(values, child);
    if (error) tree[treeKey(key)] = error;
  }
  return orNothing(tree);
}

function explainList(node: SchemaNode, value: unknown): ErrorTree | undefined {
  if (!Array.isArray(value)) return leaf('LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType');
  const { minItems: min = 0, maxItems: max, items } = node;
  if (value.length < min || (max !== undefined && value.length > max)) return outOfBounds(min, max);
  const tree: ErrorTree = {};
  value.forEach((item, index) => {
    const error = items && explain(items, item);
    if (error) tree[String(index)] = error;
  });
  return orNothing(tree);
}

const orNothing = (tree: ErrorTree): ErrorTree | undefined =>
  Object.keys(tree).length > 0 ? tree : undefined;

function explainUnion(branches: readonly SchemaNode[], value: unknown): ErrorTree | undefined {
  if (value === null && !branches.some((branch) => branch.type === 'null')) return REQUIRED;
  const branch = closest(branches, value, () => value);
  return branch && explain(branch, value);
}

/**
 * The branch of a union that a value is closest to: the first that accepts it unchanged, else the first that accepts it
 * after coercion, else the one with the fewest errors, where a wrong type or discriminator weighs most.
 */
export function closest(
  branches: readonly SchemaNode[],
  value: unknown,
  shaped: (branch: SchemaNode) => unknown,
): SchemaNode | undefined {
  const isPrimitive = typeof value !== 'object' || value === null;
  const exact = isPrimitive ? branches.find((branch) => explain(branch, value) === undefined) : undefined;
  if (exact) return exact;
  const real = branches.filter((branch) => branch.type !== 'null');
  if (real.length <= 1) return real[0] ?? branches[0];
  let best: SchemaNode | undefined;
  let bestWeight = Number.POSITIVE_INFINITY;
  for (const branch of real) {
    const candidate = shaped(branch);
    const tree = explain(branch, candidate);
    const weight = tree === undefined ? 0 : 1 + weigh(tree) + mismatch(branch, candidate);
    if (weight < bestWeight) [best, bestWeight] = [branch, weight];
  }
  return best;
}

/** Number of leaves of an error tree; a leaf at the root means that the whole value has another type. */
function weigh(tree: ErrorTree): number {
  if (tree._errors) return 10_000;
  return Object.values(tree).reduce<number>((sum, child) => sum + countLeaves(child), 0);
}

function countLeaves(tree: ErrorTree | FieldError[] | undefined): number {
  if (tree === undefined || Array.isArray(tree)) return tree?.length ?? 0;
  return Object.values(tree).reduce<number>((sum, child) => sum + countLeaves(child), 0);
}

/** Counts wrong values of constants (`type: 2`), which show that another branch was meant. */
function mismatch(branch: SchemaNode, value: unknown): number {
  if (!isRecord(value)) return 0;
  const wrong = Object.entries(branch.properties ?? {}).filter(
    ([key, child]) =>
      ('const' in child || child.enum?.length === 1) && explain(child, value[key]) !== undefined,
  );
  return wrong.length * 1_000;
}
