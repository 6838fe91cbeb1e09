import { isRecord } from './json.ts';
import { LIMITS } from './limits.ts';

/**
 * Every kind of component: its keys, their bounds, and the kinds that it may contain. Messages and modals are validated
 * against the same table; `only` marks a key that exists in one of them.
 *
 * @source https://docs.discord.com/developers/components/reference; where it is silent, the schemas of requests in
 * https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json
 */
export const COMPONENT = {
  ACTION_ROW: 1,
  BUTTON: 2,
  STRING_SELECT: 3,
  TEXT_INPUT: 4,
  USER_SELECT: 5,
  ROLE_SELECT: 6,
  MENTIONABLE_SELECT: 7,
  CHANNEL_SELECT: 8,
  SECTION: 9,
  TEXT_DISPLAY: 10,
  THUMBNAIL: 11,
  MEDIA_GALLERY: 12,
  FILE: 13,
  SEPARATOR: 14,
  CONTAINER: 17,
  LABEL: 18,
  FILE_UPLOAD: 19,
  RADIO_GROUP: 21,
  CHECKBOX_GROUP: 22,
  CHECKBOX: 23,
} as const satisfies Record<string, number>;

export type ComponentKind = (typeof COMPONENT)[keyof typeof COMPONENT];

export const BUTTON_STYLE = { PRIMARY: 1, SECONDARY: 2, SUCCESS: 3, DANGER: 4, LINK: 5, PREMIUM: 6 } as const;

/** Where components are used. */
export type ComponentPlace = 'message' | 'modal';

/** The schema of one value. Lengths of text are in code points. */
export type ComponentField = { readonly required?: true; readonly only?: ComponentPlace } & (
  | {
      readonly is: 'text';
      readonly min: number;
      readonly max: number;
      /** Shown to readers: text of spaces and line breaks alone is rejected. */
      readonly shown?: true;
      /** Direction controls are removed, because clients show the text next to text of their own. */
      readonly oneDirection?: true;
    }
  | { readonly is: 'integer'; readonly min: number; readonly max: number }
  | { readonly is: 'boolean' }
  | { readonly is: 'choice'; readonly of: readonly (string | number)[] }
  | { readonly is: 'snowflake' }
  /** A group of file types or an extension, in any case. */
  | { readonly is: 'fileType' }
  /** A web address: http or https. */
  | { readonly is: 'link'; readonly max: number }
  /** A Unicode emoji, or the id and name of a custom one. */
  | { readonly is: 'emoji' }
  /** An object whose `url` is a web address or `attachment://name`; with `upload` only the latter. */
  | { readonly is: 'media'; readonly upload: boolean }
  | { readonly is: 'object'; readonly fields: ComponentFields }
  | {
      readonly is: 'list';
      readonly of: ComponentField;
      readonly min: number;
      readonly max: number;
      /** Duplicate values are rejected; objects are compared by id. */
      readonly unique?: true;
    }
  | { readonly is: 'component'; readonly of: Readonly<Record<ComponentPlace, readonly ComponentKind[]>> }
);

export type ComponentFields = Readonly<Record<string, ComponentField>>;

export interface ComponentSchema {
  readonly fields: ComponentFields;
  /** Values of keys that the author of a message omitted. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

const text = (min: number, max: number) => ({ is: 'text', min, max }) as const;
const label = (min: number, max: number) => ({ is: 'text', min, max, oneDirection: true }) as const;
const shownText = (min: number, max: number) => ({ is: 'text', min, max, shown: true }) as const;
const shownLabel = (min: number, max: number) => ({ ...label(min, max), shown: true }) as const;
const integer = (min: number, max: number) => ({ is: 'integer', min, max }) as const;
const boolean = { is: 'boolean' } as const;
const list = (of: ComponentField, min: number, max: number) => ({ is: 'list', of, min, max }) as const;
const needed = <F extends ComponentField>(field: F) => ({ ...field, required: true }) as const;
const kinds = (message: readonly ComponentKind[], modal: readonly ComponentKind[] = []) =>
  ({ is: 'component', of: { message, modal } }) as const;

const C = COMPONENT;
const IN_ROW: readonly ComponentKind[] = [
  C.BUTTON,
  C.STRING_SELECT,
  C.USER_SELECT,
  C.ROLE_SELECT,
  C.MENTIONABLE_SELECT,
  C.CHANNEL_SELECT,
];
const IN_LABEL: readonly ComponentKind[] = [
  C.STRING_SELECT,
  C.TEXT_INPUT,
  C.USER_SELECT,
  C.ROLE_SELECT,
  C.MENTIONABLE_SELECT,
  C.CHANNEL_SELECT,
  C.FILE_UPLOAD,
  C.RADIO_GROUP,
  C.CHECKBOX_GROUP,
  C.CHECKBOX,
];
const IN_CONTAINER: readonly ComponentKind[] = [
  C.ACTION_ROW,
  C.SECTION,
  C.TEXT_DISPLAY,
  C.MEDIA_GALLERY,
  C.FILE,
  C.SEPARATOR,
];

/** Kinds at the top level: `standalone` for messages with the flag IS_COMPONENTS_V2, `legacy` for other messages. */
export const COMPONENT_ROOTS = {
  legacy: { kinds: [C.ACTION_ROW], max: LIMITS.component_rows_max },
  standalone: {
    kinds: [...IN_CONTAINER, C.CONTAINER],
    max: LIMITS.components_per_message_max,
  },
  modal: { kinds: [C.ACTION_ROW, C.TEXT_DISPLAY, C.LABEL], max: 5 },
} as const;

export const SELECTS: ReadonlySet<number> = new Set(IN_ROW.filter((kind) => kind !== C.BUTTON));

const customId = needed(text(1, LIMITS.component_custom_id_chars_max));
const media = needed({ is: 'media', upload: false } as const);
const required = { ...boolean, only: 'modal' } as const;
const description = label(1, 1_024);

const option = {
  label: needed(shownLabel(1, 100)),
  value: needed(text(1, 100)),
  description: label(0, 100),
} as const;

/** @param defaults Types that `default_values` may have. */
const select = (defaults: readonly string[], more: ComponentFields = {}): ComponentSchema => ({
  fields: {
    custom_id: customId,
    placeholder: label(0, 150),
    min_values: integer(0, 25),
    max_values: integer(1, 25),
    disabled: boolean,
    required,
    ...(defaults.length > 0 && {
      default_values: {
        ...list(
          {
            is: 'object',
            fields: {
              id: needed({ is: 'snowflake' } as const),
              type: needed({ is: 'choice', of: defaults } as const),
            },
          },
          0,
          25,
        ),
        unique: true,
      },
    }),
    ...more,
  },
  defaults: { min_values: 1, max_values: 1 },
});

/** Keys of a component besides `type` and `id`, in the order in which they are validated. */
export const COMPONENT_SCHEMAS: Readonly<Record<ComponentKind, ComponentSchema>> = {
  [C.ACTION_ROW]: { fields: { components: needed(list(kinds(IN_ROW, [C.TEXT_INPUT]), 1, 5)) } },
  [C.BUTTON]: {
    fields: {
      style: needed({ is: 'choice', of: Object.values(BUTTON_STYLE) } as const),
      custom_id: text(1, LIMITS.component_custom_id_chars_max),
      label: label(0, 80),
      emoji: { is: 'emoji' },
      url: { is: 'link', max: 512 },
      sku_id: { is: 'snowflake' },
      disabled: boolean,
    },
  },
  [C.STRING_SELECT]: select([], {
    options: needed(
      list({ is: 'object', fields: { ...option, emoji: { is: 'emoji' }, default: boolean } }, 1, 25),
    ),
  }),
  [C.TEXT_INPUT]: {
    fields: {
      custom_id: customId,
      style: needed({ is: 'choice', of: [1, 2] } as const),
      label: label(1, 45),
      min_length: integer(0, 4_000),
      max_length: integer(1, 4_000),
      required,
      value: text(0, 4_000),
      placeholder: label(0, 100),
    },
  },
  [C.USER_SELECT]: select(['user']),
  [C.ROLE_SELECT]: select(['role']),
  [C.MENTIONABLE_SELECT]: select(['user', 'role']),
  [C.CHANNEL_SELECT]: select(['channel'], {
    channel_types: {
      ...list({ is: 'choice', of: [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16] }, 0, 25),
      unique: true,
    },
  }),
  [C.SECTION]: {
    fields: {
      components: needed(list(kinds([C.TEXT_DISPLAY]), 1, 3)),
      accessory: needed(kinds([C.BUTTON, C.THUMBNAIL])),
    },
  },
  [C.TEXT_DISPLAY]: { fields: { content: needed(shownText(1, 4_000)) } },
  [C.THUMBNAIL]: {
    fields: { media, description, spoiler: boolean },
    defaults: { description: null, spoiler: false },
  },
  [C.MEDIA_GALLERY]: {
    fields: {
      items: needed(list({ is: 'object', fields: { media, description, spoiler: boolean } }, 1, 10)),
    },
  },
  [C.FILE]: {
    fields: { file: needed({ is: 'media', upload: true } as const), spoiler: boolean },
    defaults: { spoiler: false },
  },
  [C.SEPARATOR]: {
    fields: { divider: boolean, spacing: { is: 'choice', of: [1, 2] } },
    defaults: { spacing: 1, divider: true },
  },
  [C.CONTAINER]: {
    fields: {
      components: needed(list(kinds(IN_CONTAINER), 1, LIMITS.components_per_message_max)),
      accent_color: integer(0, 0xffffff),
      spoiler: boolean,
    },
    defaults: { accent_color: null, spoiler: false },
  },
  [C.LABEL]: {
    fields: {
      label: needed(shownLabel(1, 45)),
      description: label(1, 100),
      component: needed(kinds([], IN_LABEL)),
    },
  },
  [C.FILE_UPLOAD]: {
    fields: {
      custom_id: customId,
      min_values: integer(0, 10),
      max_values: integer(1, 10),
      required,
      file_types: list({ is: 'fileType' }, 0, 10),
    },
  },
  [C.RADIO_GROUP]: {
    fields: {
      custom_id: customId,
      options: needed(list({ is: 'object', fields: { ...option, default: boolean } }, 2, 10)),
      required,
    },
  },
  [C.CHECKBOX_GROUP]: {
    fields: {
      custom_id: customId,
      options: needed(list({ is: 'object', fields: { ...option, default: boolean } }, 1, 10)),
      min_values: integer(0, 10),
      max_values: integer(1, 10),
      required,
    },
  },
  [C.CHECKBOX]: { fields: { custom_id: customId, default: boolean } },
};

/**
 * Whether client libraries can read these components: at every level, all required keys are present and have their
 * type. Earlier versions of this server stored components as they were sent.
 */
export const areReadable = (components: unknown): boolean =>
  Array.isArray(components) && components.every((one) => fits(one, { is: 'component', of: NO_KINDS }));

const NO_KINDS = { message: [], modal: [] } as const;

function fits(value: unknown, field: ComponentField): boolean {
  switch (field.is) {
    case 'component': {
      if (!isRecord(value) || !Object.hasOwn(COMPONENT_SCHEMAS, String(value.type))) return false;
      return fitAll(value, COMPONENT_SCHEMAS[value.type as ComponentKind].fields);
    }
    case 'list':
      return Array.isArray(value) && value.every((one) => fits(one, field.of));
    case 'object':
      return isRecord(value) && fitAll(value, field.fields);
    case 'media':
      return isRecord(value) && typeof value.url === 'string';
    case 'emoji':
      return isRecord(value);
    case 'integer':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'choice':
      return field.of.some((one) => one === value);
    default:
      return typeof value === 'string';
  }
}

const fitAll = (object: Readonly<Record<string, unknown>>, fields: ComponentFields): boolean =>
  Object.entries(fields).every(([key, field]) => {
    const value = object[key];
    return value === undefined || value === null ? field.required !== true : fits(value, field);
  });
