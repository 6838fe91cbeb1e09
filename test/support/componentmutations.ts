import {
  COMPONENT,
  COMPONENT_SCHEMAS,
  type ComponentField,
  type ComponentFields,
  type ComponentKind,
  type ComponentPlace,
} from '../../protocol/components.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Tree } from './components.ts';

type Path = readonly (string | number)[];

/** A valid list of components with one thing wrong, and where the answer must say so. */
interface Mutation {
  readonly what: string;
  readonly components: unknown[];
  readonly path: Path;
}

/** Every way in which one field of a valid tree can leave its bounds; each in a copy of its own. */
export function mutationsOf(
  components: readonly Tree[],
  kinds: readonly ComponentKind[],
  place: ComponentPlace,
): Mutation[] {
  const mutations: Mutation[] = [];
  /** Puts `value` at `path`, or takes away what is there; the answer is to name `at`. */
  const put: Put = (path, value, what, at = path) => {
    const copy = structuredClone(components) as unknown[];
    const last = path.at(-1)!;
    const holder = path.slice(0, -1).reduce<unknown>((node, key) => (node as Tree)[key], copy) as Tree;
    if (value === undefined) delete holder[last];
    else holder[last] = value;
    mutations.push({ what: `${what} at ${path.join('.')}`, components: copy, path: ['components', ...at] });
  };
  for (const [index, tree] of components.entries()) spoilComponent({ put, place }, [index], tree, kinds);
  return mutations;
}

type Put = (path: Path, value: unknown, what: string, at?: Path) => void;
interface Spoiler {
  readonly put: Put;
  readonly place: ComponentPlace;
}

const NO_KINDS: readonly unknown[] = [15, 16, 20, 99, -1, 'x', ...Object.values(COMPONENT)];

function spoilComponent(by: Spoiler, path: Path, tree: Tree, allowed: readonly unknown[]): void {
  const { put } = by;
  put([...path, 'type'], undefined, 'no kind');
  for (const type of NO_KINDS.filter((one) => !allowed.includes(one)))
    put([...path, 'type'], type, `kind ${type}`, path);
  put(path, 'row', 'text for a component');
  put([...path, 'id'], -1, 'an id below 0');
  put([...path, 'id'], LIMITS.component_id_max + 1, 'an id beyond 32 bits');
  put([...path, 'id'], 1.5, 'an id that is no integer');
  spoilFields(by, path, tree, COMPONENT_SCHEMAS[tree.type as ComponentKind].fields);
}

function spoilFields(by: Spoiler, path: Path, tree: Tree, fields: ComponentFields): void {
  for (const [key, field] of Object.entries(fields)) {
    if (field.only !== undefined && field.only !== by.place) continue;
    const at = [...path, key];
    if (field.required) by.put(at, undefined, 'a required key is absent');
    if (tree[key] === undefined || tree[key] === null) continue;
    spoilScalar(by, at, field);
    spoilWhole(by, at, tree[key], field);
  }
}

function spoilScalar({ put }: Spoiler, path: Path, field: ComponentField): void {
  switch (field.is) {
    case 'text':
      put(path, 'x'.repeat(field.max + 1), `${field.max + 1} characters`);
      put(path, { not: 'text' }, 'an object for text');
      if (field.min > 0) put(path, '', 'an empty text');
      if (field.shown) put(path, ' \n', 'a text of spaces');
      return;
    case 'integer':
      put(path, field.min - 1, 'below the least');
      put(path, field.max + 1, 'beyond the most');
      put(path, 'many', 'text for a number');
      return;
    case 'boolean':
      put(path, 'maybe', 'text for a boolean');
      return;
    case 'choice':
      put(path, 99, 'no choice');
      return;
    case 'snowflake':
      put(path, 'x1', 'no id');
      return;
    case 'fileType':
      put(path, 'pdf', 'an extension without its dot');
      return;
    case 'link':
      spoilUrl(put, path, field.max);
      return;
    default:
  }
}

function spoilUrl(put: Put, path: Path, max: number): void {
  for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'example.com', ''])
    put(path, url, `the address "${url}"`);
  put(path, `https://example.com/${'x'.repeat(max)}`, 'a long address');
}

function spoilWhole(by: Spoiler, path: Path, value: unknown, field: ComponentField): void {
  const { put, place } = by;
  switch (field.is) {
    case 'emoji':
      put(path, 'x', 'text for an emoji');
      put(path, { name: 'x'.repeat(33) }, 'a long name', [...path, 'name']);
      return;
    case 'media':
      put(path, 'https://example.com', 'text for a media item');
      spoilUrl(put, [...path, 'url'], LIMITS.component_media_url_chars_max);
      put([...path, 'url'], 'attachment://absent.png', 'a file that is not there');
      if (field.upload) put([...path, 'url'], 'https://example.com/a.png', 'a web address for an upload');
      return;
    case 'object':
      put(path, 7, 'a number for an object');
      spoilFields(by, path, value as Tree, field.fields);
      return;
    case 'list':
      put(path, { 0: 1 }, 'an object for a list');
      if (field.min > 0) put(path, [], 'an empty list');
      put(path, Array(field.max + 1).fill((value as unknown[])[0] ?? 1), `${field.max + 1} elements`);
      for (const [index, one] of (value as unknown[]).entries()) {
        spoilScalar(by, [...path, index], field.of);
        spoilWhole(by, [...path, index], one, field.of);
      }
      return;
    case 'component':
      spoilComponent(by, path, value as Tree, field.of[place]);
      return;
    default:
  }
}
