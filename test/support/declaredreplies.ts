import type { AnyOperation } from '../../transports/rest/operation.ts';
import { operations, unlisted } from '../../transports/rest/resources/index.ts';
import { asSchemaNode, type SchemaNode } from '../../transports/rest/schemanode.ts';

const ALL: Readonly<Record<string, AnyOperation>> = { ...operations, ...unlisted };

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  snowflake: (text) => BigInt(text) < 1n << 63n,
  'date-time': (text) => TIME.test(text) && !Number.isNaN(Date.parse(text)),
  uri: (text) => !/\s/.test(text) && URL.canParse(text),
};

const CHECKS: Readonly<Record<string, (value: unknown, node: SchemaNode) => boolean>> = {
  string: (value, { format = '', pattern }) =>
    typeof value === 'string'
      ? (pattern === undefined || new RegExp(pattern).test(value)) && (FORMATS[format]?.(value) ?? true)
      : format === 'binary' && value instanceof Uint8Array,
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  undefined: (value) => value === undefined,
};

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const SHOWN_CHARS = 80;
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
};

/** Faults in a value, with the path to each. A field whose value is undefined is absent, as in JSON. */
function objectionsTo(node: SchemaNode, value: unknown, path = ''): string[] {
  const is = (expected: string) => [`${path || '/'} is ${shown(value)}, expected ${expected}`];
  if (node.anyOf) return closest(node.anyOf, value, path);
  if (node.enum) return node.enum.includes(value) ? [] : is(`one of ${shown(node.enum)}`);
  if (node.type === undefined) return [];
  const { items } = node;
  if (items)
    return Array.isArray(value)
      ? value.flatMap((each, index) => objectionsTo(items, each, `${path}/${index}`))
      : is('a list');
  if (node.type === 'object')
    return isObject(value) ? inside(node, value, path) : is(node.title ?? 'an object');
  const fits = CHECKS[node.type];
  if (!fits) throw new Error(`A reply schema has the type "${node.type}", which has no rule here.`);
  return fits(value, node) ? [] : is(node.format ?? node.type);
}

function inside(node: SchemaNode, value: Fields, path: string): string[] {
  const { properties = {}, required = [], additionalProperties: others, title = 'an object' } = node;
  const missing = required.filter((name) => value[name] === undefined);
  const found = missing.map((name) => `${path}/${name} is missing in ${title}`);
  for (const [name, each] of Object.entries(value)) {
    if (each === undefined) continue;
    const field = properties[name] ?? others;
    if (field === false) found.push(`${path}/${name} is ${shown(each)}, which ${title} does not name`);
    else if (typeof field === 'object') found.push(...objectionsTo(field, each, `${path}/${name}`));
  }
  return found;
}

/** Objections of the alternative that the value was most likely meant to be: the one with the fewest. */
function closest(branches: readonly SchemaNode[], value: unknown, path: string): string[] {
  const meant = value === null ? branches : branches.filter(({ type }) => type !== 'null');
  const all = meant.map((branch) => objectionsTo(branch, value, path));
  return all.reduce((best, each) => (each.length < best.length ? each : best));
}

/**
 * Faults in a successful answer, by the operation's declaration: the operation, the status and the path of each field. Refusals
 * have no schema here.
 *
 * @param body Undefined for none.
 */
export function objectionsToReply(
  operationId: string,
  status: number,
  body: unknown,
  operation: AnyOperation | undefined = ALL[operationId],
): string[] {
  if (status >= 300 || !operation) return [];
  const { status: usual, reply, also } = operation;
  const schema = status === usual ? reply : also?.[status as keyof typeof also];
  if (!schema) return [`${operationId} ${status}: the operation declares no reply of this status`];
  return objectionsTo(asSchemaNode(schema), body).map(
    (objection) => `${operationId} ${status}: ${objection}`,
  );
}

/** Services that a server has. Those that a test wrote for some operations lack one of them, and answer with parts of objects. */
const OF_A_SERVER = ['guilds', 'lobbies', 'oauth', 'webhooks'] as const;
const isOfServer = (services: object): boolean => OF_A_SERVER.every((name) => name in services);

/** Found since the test began. */
const found: string[] = [];
const watched = new WeakSet<AnyOperation>();

/** Compares every answer of a server in this process with the declared reply, from now on. @returns what is found. */
export function checkReplies(): string[] {
  for (const [operationId, operation] of Object.entries(ALL)) {
    if (watched.has(operation)) continue;
    watched.add(operation);
    const handle = operation.handle.bind(operation);
    const checked: AnyOperation['handle'] = async (call, services) => {
      const answer = await handle(call, services);
      if (!answer.ok || !isOfServer(services)) return answer;
      const { status = operation.status, value } = answer;
      found.push(...objectionsToReply(operationId, status, status === 204 ? undefined : value));
      return answer;
    };
    Object.defineProperty(operation, 'handle', { value: checked });
  }
  return found;
}
