/** Compares request schemas of two OpenAPI documents: what both say, and required fields. */
type Json = Readonly<Record<string, unknown>>;

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A schema without references, null branches and wrappers of one branch. */
interface Flat {
  readonly nullable: boolean;
  readonly types: ReadonlySet<string>;
  /** Keywords of the schema, with those of `allOf` merged. */
  readonly node: Json;
  readonly values: ReadonlySet<string> | null;
  /** More than one alternative that is not null: each alone. */
  readonly branches: readonly Json[];
}

function resolved(document: Json, node: Json): Json {
  const named = node.$ref;
  if (typeof named !== 'string') return node;
  const found = named
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (isJson(at) ? at[key] : undefined), document);
  return isJson(found) ? resolved(document, found) : {};
}

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);

function merged(document: Json, schema: Json): Json {
  const { allOf, ...own } = resolved(document, schema);
  const parts = [own, ...listOf(allOf).map((part) => merged(document, part))];
  if (parts.length === 1) return own;
  return {
    ...Object.assign({}, ...parts),
    // A schema beside `allOf` names fewer values than the one it is made of.
    ...(own.enum !== undefined && { enum: own.enum }),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => (required as string[]) ?? []),
  };
}

const NUMBERS = new Set(['integer', 'number']);

function flat(document: Json, schema: Json): Flat {
  const node = merged(document, schema);
  const types = [node.type].flat().filter((type) => typeof type === 'string');
  const branches = [...listOf(node.oneOf), ...listOf(node.anyOf)].map((each) => merged(document, each));
  const isNull = (each: Json): boolean => each.type === 'null' || ('const' in each && each.const === null);
  const others = branches.filter((each) => !isNull(each));
  const nullable = types.includes('null') || others.length < branches.length;
  const listed = Array.isArray(node.enum)
    ? node.enum
    : others.length > 0 && others.every((each) => 'const' in each)
      ? others.map((each) => each.const)
      : null;
  if (listed === null && others.length === 1 && others[0]) {
    const only = flat(document, others[0]);
    return { ...only, nullable: nullable || only.nullable };
  }
  return {
    nullable,
    types: new Set(
      types.filter((type) => type !== 'null').map((type) => (NUMBERS.has(type) ? 'number' : type)),
    ),
    node,
    values: listed && new Set(listed.filter((value) => value !== null).map(String)),
    branches: listed ? [] : others,
  };
}

const BOUNDS = [
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems', 'maxProperties'],
] as const;

/** Most nesting that is compared: components contain components. */
const DEPTH_MAX = 8;

/** The name of a shared schema, so that each of its differences is listed once. */
function nameOf({ $ref, oneOf }: Json): string | null {
  if (typeof $ref === 'string') return $ref.split('/').at(-1) ?? null;
  const named = listOf(oneOf).filter((each) => '$ref' in each);
  return named.length === 1 && named[0] ? nameOf(named[0]) : null;
}

/**
 * Differences of the second document's schema from the first: fields, required fields, types, enums and bounds.
 * Bounds are compared where both have them. Alternatives are compared where there is one besides null.
 */
export function differences(
  [published, theirs]: readonly [Json, Json],
  [own, ours]: readonly [Json, Json],
  place: string,
  depth = 0,
): string[] {
  if (depth > DEPTH_MAX) return [];
  const at = nameOf(theirs) ?? place;
  const [their, our] = [flat(published, theirs), flat(own, ours)];
  const found: string[] = [];
  if (their.branches.length > 1 || our.branches.length > 1) return found;
  // A schema of anything is checked by the handler.
  if (Object.keys(ours).length === 0) return found;
  const missing = [...their.types].filter((type) => !our.types.has(type));
  if (their.types.size > 0 && our.types.size > 0 && missing.length > 0)
    found.push(`${at} type ${[...their.types]} is ${[...our.types]}`);
  if (their.nullable && !our.nullable) found.push(`${at} not nullable`);
  if (their.values && our.values) {
    const absent = [...their.values].filter((value) => !our.values?.has(value));
    const more = [...our.values].filter((value) => !their.values?.has(value));
    if (absent.length > 0) found.push(`${at} without ${absent.join(',')}`);
    if (more.length > 0) found.push(`${at} beyond ${more.join(',')}`);
  }
  for (const bound of BOUNDS) {
    const [one, other] = [their.node[bound], our.node[bound]];
    if (one !== undefined && other !== undefined && one !== other)
      found.push(`${at} ${bound} ${one} is ${other}`);
  }
  const pairs: (readonly [unknown, unknown, string])[] = [
    [their.node.items, our.node.items, '[]'],
    [their.node.additionalProperties, our.node.additionalProperties, '{}'],
  ];
  const [fields, ourFields] = [their.node.properties, our.node.properties];
  if (isJson(fields) && isJson(ourFields)) {
    const required = (node: Json) => new Set([node.required ?? []].flat().map(String));
    const [needed, weNeed] = [required(their.node), required(our.node)];
    for (const [name, field] of Object.entries(fields)) {
      if (!(name in ourFields)) found.push(`${at}.${name} absent`);
      else pairs.push([field, ourFields[name], `.${name}`]);
      if (name in ourFields && needed.has(name) !== weNeed.has(name))
        found.push(`${at}.${name} ${needed.has(name) ? 'not required' : 'required'}`);
    }
    const more = Object.keys(ourFields).filter((name) => !(name in fields));
    if (more.length > 0) found.push(...more.map((name) => `${at}.${name} added`));
  }
  for (const [one, other, step] of pairs)
    if (isJson(one) && isJson(other))
      found.push(...differences([published, one], [own, other], `${at}${step}`, depth + 1));
  return found;
}
