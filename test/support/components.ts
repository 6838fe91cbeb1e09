import type { APIAttachment } from 'discord-api-types/v10';
import fc from 'fast-check';
import {
  BUTTON_STYLE,
  COMPONENT,
  COMPONENT_ROOTS,
  COMPONENT_SCHEMAS,
  type ComponentField,
  type ComponentFields,
  type ComponentKind,
  type ComponentPlace,
  SELECTS,
} from '../../protocol/components.ts';
import { LIMITS } from '../../protocol/limits.ts';

export type Tree = Record<string, unknown>;

/** The `components` of a message, with the message's flags. */
export interface SentComponents {
  readonly flags: 0 | typeof IS_COMPONENTS_V2;
  readonly components: Tree[];
}

export const IS_COMPONENTS_V2 = 32_768;

/** Names that `attachment://` may use in generated trees; send these files with them. */
export const UPLOADS = ['map.png', 'notes.txt'] as const;

/** The same files as the server holds them. */
export const attachments: readonly APIAttachment[] = UPLOADS.map((filename, index) => {
  const id = `60000000000000000${index}`;
  const url = `http://127.0.0.1/attachments/50/${id}/${filename}`;
  const image = filename.endsWith('.png') ? { content_type: 'image/png', width: 4, height: 3 } : {};
  return { id, filename, size: 3, url, proxy_url: url, ...image };
});

const CHARACTERS = fc.constantFrom('a', 'Z', '0', 'é', '界', '🔥', '-', '"', '\\', '<', '\n');
const words = (min: number, max: number) => {
  const long = fc.constant('x'.repeat(max));
  const short = fc.string({ unit: CHARACTERS, minLength: min, maxLength: Math.min(max, 12) });
  return max > 200 ? short : fc.oneof({ weight: 9, arbitrary: short }, { weight: 1, arbitrary: long });
};
const snowflake = fc.bigInt({ min: 1n, max: (1n << 63n) - 1n }).map(String);
const webUrl = fc
  .tuple(fc.constantFrom('http', 'https', 'HTTPS'), fc.constantFrom('', '/a.png', '/a?b=c#d', ':8080/'))
  .map(([scheme, path]) => `${scheme}://example.com${path}`);
const emoji = fc.oneof(
  fc.constantFrom({ name: '🔥' }, { id: null, name: '👍🏽' }, { name: '🏴󠁧󠁢󠁳󠁣󠁴󠁿' }),
  fc.record({ id: snowflake, name: fc.constantFrom('wave', 'a_b'), animated: fc.boolean() }),
);

/** Values of a field that are valid by themselves; keys of one component may still contradict each other. */
function fieldValue(field: ComponentField, place: ComponentPlace, depth: number): fc.Arbitrary<unknown> {
  switch (field.is) {
    case 'text':
      return words(field.min, field.max).map((text) => (field.shown && text.trim() === '' ? 'x' : text));
    case 'integer':
      return fc.integer({ min: field.min, max: field.max });
    case 'boolean':
      return fc.boolean();
    case 'choice':
      return fc.constantFrom(...field.of);
    case 'snowflake':
      return snowflake;
    case 'fileType':
      return fc.constantFrom('image', 'video', 'audio', '.png', '.tar');
    case 'link':
      return webUrl;
    case 'emoji':
      return emoji;
    case 'media': {
      const upload = fc.constantFrom(...UPLOADS).map((name) => `attachment://${name}`);
      return (field.upload ? upload : fc.oneof(webUrl, upload)).map((url) => ({ url }));
    }
    case 'object':
      return fieldValues(field.fields, place, depth);
    case 'list': {
      const lengths = { minLength: field.min, maxLength: Math.min(field.max, Math.max(field.min, 4)) };
      const of = fieldValue(field.of, place, depth);
      return field.unique ? fc.uniqueArray(of, lengths) : fc.array(of, lengths);
    }
    case 'component':
      return componentOf(field.of[place], place, depth + 1);
  }
}

function fieldValues(fields: ComponentFields, place: ComponentPlace, depth: number): fc.Arbitrary<Tree> {
  const mine = Object.entries(fields).filter(([, { only }]) => only === undefined || only === place);
  const record = Object.fromEntries(mine.map(([key, field]) => [key, fieldValue(field, place, depth)]));
  const requiredKeys = mine.filter(([, { required }]) => required).map(([key]) => key);
  return fc.record(record, { requiredKeys });
}

function componentOf(kinds: readonly ComponentKind[], place: ComponentPlace, depth = 0): fc.Arbitrary<Tree> {
  return fc
    .constantFrom(...kinds)
    .chain((type) =>
      fieldValues(COMPONENT_SCHEMAS[type].fields, place, depth).map((tree) =>
        settled({ type, ...tree }, place),
      ),
    );
}

const STYLED: Readonly<Record<number, string>> = {
  [BUTTON_STYLE.LINK]: 'url',
  [BUTTON_STYLE.PREMIUM]: 'sku_id',
};

/** Makes the keys of one component agree. No SKU is known to a server, so premium buttons become links. */
function settled(tree: Tree, place: ComponentPlace): Tree {
  const next = { ...tree };
  const type = next.type as ComponentKind;
  if (type === COMPONENT.BUTTON) {
    if (next.style === BUTTON_STYLE.PREMIUM) next.style = BUTTON_STYLE.LINK;
    const key = STYLED[next.style as number] ?? 'custom_id';
    const value = next[key] ?? (key === 'url' ? 'https://example.com' : 'go');
    for (const other of ['url', 'sku_id', 'custom_id']) delete next[other];
    next[key] = value;
    const isLabelled = typeof next.label === 'string' && next.label.trim() !== '';
    if (!isLabelled && next.emoji === undefined) next.label = 'go';
  }
  if (type === COMPONENT.ACTION_ROW) {
    const inside = next.components as Tree[];
    const select = inside.find((one) => SELECTS.has(one.type as number));
    if (select) next.components = [select];
  }
  if (Array.isArray(next.options)) {
    next.options = (next.options as Tree[]).map((one, index) => ({
      ...one,
      value: `v${index}`,
      default: false,
    }));
  }
  if ('min_values' in next || 'max_values' in next) settleBounds(next);
  if (Array.isArray(next.options) && typeof next.max_values === 'number') {
    next.max_values = Math.min(next.max_values, next.options.length);
    next.min_values = Math.min(next.min_values as number, next.max_values as number);
  }
  if (Array.isArray(next.default_values)) {
    const chosen = new Map((next.default_values as Tree[]).map((one) => [one.id, one]));
    next.default_values = [...chosen.values()];
    next.max_values = 25;
    next.min_values = Math.min((next.min_values as number | undefined) ?? 1, chosen.size);
  }
  if (typeof next.min_length === 'number')
    next.max_length = Math.max(next.min_length, (next.max_length as number | undefined) ?? 1);
  if (place === 'modal') {
    if (next.disabled !== undefined) next.disabled = false;
    if (next.min_values === 0) next.required = false;
  }
  return next;
}

function settleBounds(next: Tree): void {
  const { min_values = 1, max_values = 1 } = next as { min_values?: number; max_values?: number };
  next.min_values = Math.min(min_values, max_values);
  next.max_values = Math.max(min_values, max_values);
}

/** Every component of a list, each before what it holds. */
export function everyComponent(components: readonly Tree[]): Tree[] {
  return components.flatMap((one) => {
    const inside = Array.isArray(one.components) ? (one.components as Tree[]) : [];
    const held = [one.accessory, one.component].filter((each): each is Tree => each !== undefined);
    return [one, ...everyComponent(inside), ...everyComponent(held)];
  });
}

/** Ids and custom ids of one's own, the former only here and there. */
function named(components: Tree[], ids: readonly boolean[]): Tree[] {
  for (const [index, one] of everyComponent(components).entries()) {
    if ('custom_id' in one) one.custom_id = `${String(one.custom_id).slice(0, 90)}${index}`;
    if (ids[index % ids.length]) one.id = 1_000 - index;
  }
  return components;
}

function trees(root: (typeof COMPONENT_ROOTS)[keyof typeof COMPONENT_ROOTS], place: ComponentPlace) {
  const { kinds, max } = root;
  return fc
    .tuple(
      fc.array(componentOf(kinds, place), { minLength: 1, maxLength: Math.min(max, 5) }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
    )
    .filter(([components]) => everyComponent(components).length <= LIMITS.components_per_message_max)
    .map(([components, ids]) => named(structuredClone(components), ids));
}

/** Components that an application may send with a message, of both modes. */
export const messageComponents = (): fc.Arbitrary<SentComponents> =>
  fc.oneof(
    trees(COMPONENT_ROOTS.legacy, 'message').map((components) => ({ flags: 0, components }) as const),
    trees(COMPONENT_ROOTS.standalone, 'message').map(
      (components) => ({ flags: IS_COMPONENTS_V2, components }) as const,
    ),
  );

/** Components that an application may send in a modal. */
export const modalComponents = (): fc.Arbitrary<Tree[]> => trees(COMPONENT_ROOTS.modal, 'modal');
