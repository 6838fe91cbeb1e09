import { type APIMessageTopLevelComponent, ComponentType } from 'discord-api-types/v10';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField } from '../../protocol/refusal.ts';
import type { Reply } from '../outcome.ts';
import { cleanJson } from './text.ts';

const DEPTH_MAX = 8;
const JSON_CHARS_MAX = 65_536;
const ID_MAX = 2 ** 31 - 1;
/** Kinds that stand at the top of a message; all but the row need the IS_COMPONENTS_V2 flag. */
const TOP_LEVEL: ReadonlySet<number> = new Set([
  ComponentType.ActionRow,
  ComponentType.Section,
  ComponentType.TextDisplay,
  ComponentType.MediaGallery,
  ComponentType.File,
  ComponentType.Separator,
  ComponentType.Container,
]);

const SELECT = { min_values: 1, max_values: 1 };
/** What a component says when its author did not. @source the platform's component reference, "default" */
const DEFAULTS: Readonly<Record<number, object>> = {
  [ComponentType.StringSelect]: SELECT,
  [ComponentType.UserSelect]: SELECT,
  [ComponentType.RoleSelect]: SELECT,
  [ComponentType.MentionableSelect]: SELECT,
  [ComponentType.ChannelSelect]: SELECT,
  [ComponentType.Thumbnail]: { description: null, spoiler: false },
  [ComponentType.File]: { name: null, size: null, spoiler: false },
  [ComponentType.Separator]: { spacing: 1, divider: true },
  [ComponentType.Container]: { accent_color: null, spoiler: false },
};

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Checks the frame of message components (how many, how deep, how large, the ids) and gives every component that
 * has no id the next free one, counting from 1. What each kind may hold is data that clients read; it is kept as
 * sent.
 *
 * @param standalone True when the message is made of components alone (IS_COMPONENTS_V2).
 * @source the platform's component reference
 */
export function buildComponents(
  raw: readonly unknown[],
  standalone: boolean,
): Reply<APIMessageTopLevelComponent[]> {
  const bad = (path: readonly (string | number)[], code: string, message: string) =>
    ({ ok: false, refusal: invalidField(['components', ...path], code, message) }) as const;
  const max = standalone ? LIMITS.components_per_message_max : LIMITS.component_rows_max;
  if (raw.length > max) return bad([], 'BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${max} in length.`);
  if (depthOf(raw, 0) > DEPTH_MAX) {
    return bad([], 'COMPONENT_LAYOUT_INVALID', 'Components are nested too deeply.');
  }
  for (const [index, component] of raw.entries()) {
    const type = isObject(component) ? component.type : undefined;
    if (typeof type !== 'number' || !(standalone ? TOP_LEVEL.has(type) : type === ComponentType.ActionRow)) {
      const allowed = standalone ? [...TOP_LEVEL] : [ComponentType.ActionRow];
      return bad([index, 'type'], 'BASE_TYPE_CHOICES', `Value of field "type" must be one of {${allowed}}.`);
    }
  }
  const components = cleanJson(raw) as Json[];
  if (JSON.stringify(components).length > JSON_CHARS_MAX) {
    return bad([], 'BASE_TYPE_MAX_LENGTH', 'Components are too large.');
  }
  const all = everyComponent(components);
  if (all.length > LIMITS.components_per_message_max) {
    return bad([], 'COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED', 'The total number of components exceeds 40.');
  }
  for (const component of all) complete(component);
  const repeated = assignIds(all);
  if (repeated !== null) return bad([], 'COMPONENT_ID_DUPLICATED', `Component id ${repeated} is used twice.`);
  return { ok: true, value: components as unknown as APIMessageTopLevelComponent[] };
}

/** Depth of nesting; stops one past the bound, so a deep value costs no deep recursion. */
function depthOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return depth;
  let deepest = depth;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, depth + 1));
  return deepest;
}

/** Components in reading order: each before what it holds in `components` and `accessory`. */
function everyComponent(components: readonly Json[]): Json[] {
  return components.flatMap((component) => {
    const inner = Array.isArray(component.components) ? component.components.filter(isObject) : [];
    const accessory = isObject(component.accessory) ? [component.accessory] : [];
    return [component, ...everyComponent(inner), ...everyComponent(accessory)];
  });
}

/** A null is as good as nothing said. */
function complete(component: Json): void {
  for (const [key, value] of Object.entries(component)) if (value === null) delete component[key];
  for (const [key, value] of Object.entries(DEFAULTS[component.type as number] ?? {}))
    component[key] ??= value;
}

/** @returns An id that the client gave to two components, or null. */
function assignIds(components: readonly Json[]): number | null {
  const given = new Set<number>();
  for (const component of components) {
    const { id } = component;
    if (typeof id !== 'number' || !Number.isInteger(id) || id <= 0 || id > ID_MAX) continue;
    if (given.has(id)) return id;
    given.add(id);
  }
  let next = 1;
  for (const component of components) {
    if (given.has(component.id as number)) continue;
    while (given.has(next)) next += 1;
    given.add(next);
    component.id = next;
  }
  return null;
}
