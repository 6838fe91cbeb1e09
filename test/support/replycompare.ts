/** Compares reply schemas of two OpenAPI documents: every value that the second describes must fit the first. */
type Json = Readonly<Record<string, unknown>>;

interface Sides {
  readonly published: Json;
  readonly own: Json;
}

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
const namesIn = (value: unknown): string[] => [value].flat().filter((each) => typeof each === 'string');
const fieldsOf = ({ properties }: Json): Json => (isJson(properties) ? properties : {});

function resolved(document: Json, node: Json): Json {
  if (typeof node.$ref !== 'string') return node;
  const path = node.$ref.split('/').slice(1);
  const found = path.reduce<unknown>((at, key) => (isJson(at) ? at[key] : undefined), document);
  return isJson(found) ? resolved(document, found) : {};
}

/** A schema with its references and `allOf` merged into one object. */
function merged(document: Json, schema: Json): Json {
  const { allOf, ...own } = resolved(document, schema);
  const parts = [own, ...listOf(allOf).map((part) => merged(document, part))];
  if (parts.length === 1) return own;
  return {
    ...Object.assign({}, ...parts),
    ...(own.enum !== undefined && { enum: own.enum }),
    properties: Object.assign({}, ...parts.map(fieldsOf)),
    required: parts.flatMap(({ required }) => namesIn(required)),
  };
}

/** The alternatives of a schema, without unions in unions; null is `{ type: 'null' }`. */
function branchesOf(document: Json, schema: Json): Json[] {
  const node = merged(document, schema);
  const inner = [...listOf(node.oneOf), ...listOf(node.anyOf)];
  if (inner.length > 0) return inner.flatMap((each) => branchesOf(document, each));
  if (node.const === null) return [{ type: 'null' }];
  const types = namesIn(node.type);
  if (types.length < 2) return [node];
  return types.map((type) => ({ ...node, type }));
}

/** The values that a schema lists; null when it lists none. */
function valuesOf({ enum: listed, const: only }: Json): readonly unknown[] | null {
  if (only !== undefined) return [only];
  return Array.isArray(listed) ? listed.filter((value) => value !== null) : null;
}

const typeOf = (node: Json): string => namesIn(node.type)[0] ?? 'any';
const FITS: Readonly<Record<string, readonly string[]>> = { integer: ['integer', 'number'] };

/** Differences of one alternative from another. Most of them name the object of this server and the field. */
function differing(theirs: Json, ours: Json, at: string, sides: Sides): string[] {
  const [expected, type] = [typeOf(theirs), typeOf(ours)];
  if (expected === 'any') return [];
  if (!(FITS[type] ?? [type]).includes(expected)) return [`${at} is ${type}, published as ${expected}`];
  const listed = valuesOf(theirs);
  const more = valuesOf(ours)?.filter((value) => listed && !listed.includes(value)) ?? [];
  if (more.length > 0) return [`${at} may be ${more.join(', ')}, which is not published`];
  if (isJson(theirs.items) && isJson(ours.items))
    return replyDifferences(theirs.items, ours.items, `${at}[]`, sides);
  return type === 'object' ? fieldDifferences(theirs, ours, at, sides) : [];
}

function fieldDifferences(theirs: Json, ours: Json, at: string, sides: Sides): string[] {
  const [expected, fields] = [fieldsOf(theirs), fieldsOf(ours)];
  const required = new Set(namesIn(ours.required));
  const missing = namesIn(theirs.required).filter((name) => !required.has(name));
  const isMap = isJson(theirs.additionalProperties) || Object.keys(expected).length === 0;
  return [
    ...missing.map((name) => `${at}.${name} ${name in fields ? 'may be absent' : 'is absent'}`),
    ...Object.entries(fields).flatMap(([name, field]) => {
      const known = expected[name];
      if (!isJson(known)) return isMap ? [] : [`${at}.${name} is not published`];
      return isJson(field) ? replyDifferences(known, field, `${at}.${name}`, sides) : [];
    }),
  ];
}

/** Whether a required field has no value that both objects may have, as the `type` of components. */
function isOtherKind(theirs: Json, ours: Json): boolean {
  const [expected, fields] = [fieldsOf(theirs), fieldsOf(ours)];
  return namesIn(theirs.required).some((name) => {
    const [one, other] = [expected[name], fields[name]];
    const [listed, own] = [isJson(one) && valuesOf(one), isJson(other) && valuesOf(other)];
    return listed && own && !own.some((value) => listed.includes(value));
  });
}

/** Names of objects that are compared at this moment: components contain components. */
const within = new Set<string>();

/**
 * Differences of a reply schema from the published one. An alternative is compared with the published alternative that it is
 * closest to.
 *
 * @param at Where the schema is; an object with a name of its own stands under it instead.
 */
export function replyDifferences(theirs: Json, ours: Json, at: string, sides: Sides): string[] {
  const name = typeof ours.$ref === 'string' ? (ours.$ref.split('/').at(-1) ?? at) : null;
  if (name !== null && within.has(name)) return [];
  if (name !== null) within.add(name);
  try {
    const known = branchesOf(sides.published, theirs);
    const nullable = known.some(({ type }) => type === 'null');
    const expected = known.filter(({ type }) => type !== 'null');
    return listedBranches(sides.own, ours).flatMap(([branch, own]) => {
      const place = own ?? name ?? at;
      if (branch.type === 'null') return nullable ? [] : [`${at} may be null`];
      const meant = expected.filter((each) => !isOtherKind(each, branch));
      const all = (meant.length > 0 ? meant : expected).map((each) => differing(each, branch, place, sides));
      return (
        all.reduce<string[] | null>(
          (best, each) => (best && best.length <= each.length ? best : each),
          null,
        ) ?? []
      );
    });
  } finally {
    if (name !== null) within.delete(name);
  }
}

/** The alternatives of a schema of this server, each with its own name if it has one. */
function listedBranches(document: Json, schema: Json): (readonly [Json, string | null])[] {
  const inner = listOf(schema.anyOf);
  if (inner.length === 0) return branchesOf(document, schema).map((branch) => [branch, null]);
  return inner.flatMap((each) => {
    const name = typeof each.$ref === 'string' ? (each.$ref.split('/').at(-1) ?? null) : null;
    return branchesOf(document, each).map((branch) => [branch, name] as const);
  });
}
