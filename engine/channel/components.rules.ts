import { BUTTON_STYLE, COMPONENT, type ComponentKind, SELECTS } from '../../protocol/components.ts';
import type { FoundComponent, Json, Reading } from './components.read.ts';
import type { FieldPath, Form } from './form.ts';

type Rule = (form: Form, path: FieldPath, component: Json, reading: Reading) => void;

/** Checks the keys of one component against each other. Keys that failed their own schema are absent. */
export function ruleBroken(reading: Reading, path: FieldPath, component: Json): void {
  RULES[component.type as ComponentKind]?.(reading.form, path, component, reading);
}

/** A row holds five buttons, or one select. */
const row: Rule = (form, path, { components }) => {
  const inside = listOf(components);
  if (inside.length < 2) return;
  const select = inside.findIndex(({ type }) => SELECTS.has(type as number));
  if (select < 0) return;
  const over = Math.max(1, select);
  form.add(
    [...path, 'components', over],
    'COMPONENT_LAYOUT_WIDTH_EXCEEDED',
    'A row holds up to five buttons, or one select and nothing else.',
  );
};

/** Keys that a style requires, and keys that it excludes. */
const BUTTON_KEYS: Readonly<
  Record<number, { readonly needs: string; readonly excludes: readonly string[] }>
> = {
  [BUTTON_STYLE.LINK]: { needs: 'url', excludes: ['custom_id', 'sku_id'] },
  [BUTTON_STYLE.PREMIUM]: { needs: 'sku_id', excludes: ['custom_id', 'url', 'label', 'emoji'] },
};
const INTERACTIVE_KEYS = { needs: 'custom_id', excludes: ['url', 'sku_id'] } as const;

/**
 * A button shows a label or an emoji. A label is trimmed before the check; a zero-width space counts as a label, which
 * bots send for buttons that look empty.
 *
 * @source https://github.com/discordjs/discord.js/issues/5675 and https://github.com/Rapptz/discord.py/issues/7305,
 * where the platform's answers are quoted;
 * https://github.com/Rapptz/discord.py/blob/master/examples/views/tic_tac_toe.py
 */
function labelled(form: Form, path: FieldPath, { label, emoji }: Json): void {
  const isShown = emoji !== undefined || (typeof label === 'string' && label.trim() !== '');
  if (!isShown && !form.isWrong([...path, 'label']) && !form.isWrong([...path, 'emoji']))
    form.required([...path, 'label']);
}

const button: Rule = (form, path, component, { skuIds }) => {
  const style = component.style as number | undefined;
  if (style === undefined) return;
  const { needs, excludes } = BUTTON_KEYS[style] ?? INTERACTIVE_KEYS;
  const at = [...path, needs];
  if (component[needs] === undefined && !form.isWrong(at))
    form.add(
      at,
      `BUTTON_COMPONENT_${needs.toUpperCase()}_REQUIRED`,
      `A button of style ${style} needs ${needs}.`,
    );
  for (const key of excludes) {
    if (component[key] === undefined) continue;
    const code = `BUTTON_COMPONENT_${key.toUpperCase()}_NOT_ALLOWED`;
    form.add([...path, key], code, `A button of style ${style} cannot have ${key}.`);
  }
  if (style !== BUTTON_STYLE.PREMIUM) labelled(form, path, component);
  const { sku_id: skuId } = component;
  if (style === BUTTON_STYLE.PREMIUM && skuId !== undefined && !skuIds.some((id) => id === skuId))
    form.add([...path, 'sku_id'], 'BUTTON_COMPONENT_INVALID_SKU', 'No active SKU has this id.');
};

/** `min_values` must not exceed `max_values`; absent keys count with their defaults. */
const bounds: Rule = (form, path, { min_values, max_values = 1 }) => {
  if (typeof min_values === 'number' && min_values > (max_values as number))
    form.add(
      [...path, 'min_values'],
      'NUMBER_TYPE_MAX',
      `int value should be less than or equal to max_values, which is ${max_values}.`,
    );
};

/**
 * There are as many options as may be chosen.
 *
 * @source https://github.com/Rapptz/discord.py/issues/6984; an answer of the platform
 */
const enough = (form: Form, path: FieldPath, { options, max_values: most = 1 }: Json, max: number): void => {
  if (!Array.isArray(options) || options.length >= (most as number)) return;
  form.add(
    [...path, 'options'],
    'BASE_TYPE_BAD_LENGTH',
    `Must be between ${most} and ${max} in length: max_values is ${most}.`,
  );
};

/** In a modal `required` (the default) contradicts `min_values: 0`. */
const answered: Rule = (form, path, { required = true, min_values }, { place }) => {
  if (place === 'modal' && required && min_values === 0)
    form.add(
      [...path, 'min_values'],
      'NUMBER_TYPE_MIN',
      'A required component needs min_values of 1 or more.',
    );
};

const enabled: Rule = (form, path, { disabled }, { place }) => {
  if (place === 'modal' && disabled === true)
    form.add(
      [...path, 'disabled'],
      'COMPONENT_DISABLED_IN_MODAL',
      'A component of a modal cannot be disabled.',
    );
};

/** Option values are unique, and at most `max` options are preselected. */
const optionsWithin = (form: Form, path: FieldPath, { options }: Json, max: number): void => {
  const seen = new Set<unknown>();
  for (const [index, { value }] of listOf(options).entries()) {
    if (value !== undefined && seen.has(value))
      form.add(
        [...path, 'options', index, 'value'],
        'SELECT_COMPONENT_OPTION_VALUE_DUPLICATED',
        'The specified option value is already used',
      );
    seen.add(value);
  }
  if (listOf(options).filter((one) => one.default === true).length > max)
    form.add(
      [...path, 'options'],
      'SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES',
      `At most ${max} options may be the default.`,
    );
};

const select: Rule = (form, path, component, reading) => {
  bounds(form, path, component, reading);
  answered(form, path, component, reading);
  enabled(form, path, component, reading);
  const { min_values = 1, max_values = 1 } = component as { min_values?: number; max_values?: number };
  optionsWithin(form, path, component, max_values);
  enough(form, path, component, 25);
  const { length } = listOf(component.default_values);
  if (length > 0 && (length < min_values || length > max_values))
    form.add(
      [...path, 'default_values'],
      'BASE_TYPE_BAD_LENGTH',
      `Must be between ${min_values} and ${max_values} in length: that is what min_values and max_values say.`,
    );
};

const textInput: Rule = (form, path, { min_length = 0, max_length = 4_000 }) => {
  if ((min_length as number) > (max_length as number))
    form.add(
      [...path, 'min_length'],
      'NUMBER_TYPE_MAX',
      `int value should be less than or equal to max_length, which is ${max_length}.`,
    );
};

const radioGroup: Rule = (form, path, component) => optionsWithin(form, path, component, 1);

const checkboxGroup: Rule = (form, path, component, reading) => {
  const { length } = listOf(component.options);
  const most = (component.max_values as number | undefined) ?? length;
  bounds(form, path, { ...component, max_values: most }, reading);
  answered(form, path, component, reading);
  optionsWithin(form, path, component, most);
  enough(form, path, component, 10);
};

const fileUpload: Rule = (form, path, component, reading) => {
  bounds(form, path, component, reading);
  answered(form, path, component, reading);
};

const RULES: Readonly<Partial<Record<ComponentKind, Rule>>> = {
  [COMPONENT.ACTION_ROW]: row,
  [COMPONENT.BUTTON]: button,
  [COMPONENT.STRING_SELECT]: select,
  [COMPONENT.USER_SELECT]: select,
  [COMPONENT.ROLE_SELECT]: select,
  [COMPONENT.MENTIONABLE_SELECT]: select,
  [COMPONENT.CHANNEL_SELECT]: select,
  [COMPONENT.TEXT_INPUT]: textInput,
  [COMPONENT.RADIO_GROUP]: radioGroup,
  [COMPONENT.CHECKBOX_GROUP]: checkboxGroup,
  [COMPONENT.FILE_UPLOAD]: fileUpload,
};

const listOf = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];

/** Reports ids and custom ids that occur twice in a message or modal. */
export function repeatedIds(form: Form, found: readonly FoundComponent[]): void {
  const seen = { id: new Set<unknown>(), custom_id: new Set<unknown>() };
  for (const { component, path } of found) {
    for (const key of ['id', 'custom_id'] as const) {
      const value = component[key];
      if (value === undefined) continue;
      if (seen[key].has(value)) {
        const name = key === 'id' ? 'id' : 'custom id';
        const code = `COMPONENT_${key.toUpperCase()}_DUPLICATED`;
        form.add([...path, key], code, `Component ${name} cannot be duplicated`);
      }
      seen[key].add(value);
    }
  }
}

/** Gives components without an id the next free one, counting from 1 in reading order. */
export function assignIds(found: readonly FoundComponent[]): void {
  const taken = new Set(found.map(({ component }) => component.id));
  let next = 1;
  for (const { component } of found) {
    if (component.id !== undefined) continue;
    while (taken.has(next)) next += 1;
    taken.add(next);
    component.id = next;
  }
}
