import { isJson, type Json } from '../../sdk/voice/wire.ts';

/** A field of a body as the explorer lists it. */
export interface BodyField {
  readonly name: string;
  /** The field's type and bounds, for people: `string, 1–100 characters`, `one of 0, 2, 4`, `list of object; at most 10 items`. */
  readonly what: string;
  readonly isRequired: boolean;
}

const REFERENCE = '#/components/schemas/';
/** Bounds chains of references between schemas. */
const REFERENCES_MAX = 8;

/** The schema itself in place of a reference to it. */
function resolved(document: Json, schema: unknown): Json {
  let at = schema;
  for (let left = REFERENCES_MAX; left > 0; left -= 1) {
    if (!isJson(at)) return {};
    if (typeof at.$ref !== 'string') return at;
    const { schemas } = isJson(document.components) ? document.components : {};
    at = isJson(schemas) ? schemas[at.$ref.slice(REFERENCE.length)] : undefined;
  }
  return {};
}

/** The fields of a JSON body that an OpenAPI document declares, required ones first. */
export function bodyFields(document: Json, body: unknown): readonly BodyField[] {
  const { content } = resolved(document, body);
  const media = isJson(content) ? content['application/json'] : undefined;
  const { properties, required } = resolved(document, isJson(media) ? media.schema : undefined);
  const demanded = Array.isArray(required) ? required : [];
  return Object.entries(isJson(properties) ? properties : {})
    .map(([name, schema]) => ({ name, what: whatOf(document, schema), isRequired: demanded.includes(name) }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** A body with the required fields, for people to fill in. */
export const bodyOutline = (fields: readonly BodyField[]): string =>
  JSON.stringify(
    Object.fromEntries(fields.filter((each) => each.isRequired).map(({ name, what }) => [name, `<${what}>`])),
    null,
    2,
  );

function whatOf(document: Json, schema: unknown): string {
  const read = resolved(document, schema);
  if (Array.isArray(read.anyOf)) return read.anyOf.map((each) => whatOf(document, each)).join(' or ');
  const types = [read.type ?? []].flat().map(String);
  const orNull = types.includes('null') ? ' or null' : '';
  return `${plainWhat(document, read, types.find((type) => type !== 'null') ?? '')}${orNull}`;
}

function plainWhat(document: Json, read: Json, type: string): string {
  if (Array.isArray(read.enum)) return `one of ${read.enum.filter((each) => each !== null).join(', ')}`;
  if (read.format === 'snowflake') return 'id';
  if (type === 'string') return `string${rangeOf(read.minLength, read.maxLength, ' characters')}`;
  if (type === 'array') {
    const range = rangeOf(read.minItems, read.maxItems, ' items').replace(',', ';');
    return `list of ${whatOf(document, read.items)}${range}`;
  }
  if (type === 'integer' || type === 'number') return `${type}${rangeOf(read.minimum, read.maximum, '')}`;
  return type === '' ? 'any value' : type;
}

/** A maximum beyond this is only what the type can hold. */
const TELLING_MAX = 2 ** 31 - 1;

function rangeOf(least: unknown, most: unknown, unit: string): string {
  const [from, to] = [Number(least ?? 0), Number(most ?? Number.POSITIVE_INFINITY)];
  if (to < TELLING_MAX) return from > 0 ? `, ${from}–${to}${unit}` : `, at most ${to}${unit}`;
  return from > 0 ? `, at least ${from}${unit}` : '';
}
