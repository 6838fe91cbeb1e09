import { isSnowflake } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { hasHiddenCharacters } from '../../protocol/names.ts';

/** A schema of `protocol/schemas/schema.ts` as the check walks it. */
export interface RowSchema {
  readonly type?: string;
  readonly title?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly RowSchema[];
  readonly items?: RowSchema;
  readonly properties?: Readonly<Record<string, RowSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | RowSchema;
}

/** A value that the server could not work with: its place in the row, and what it must be. */
export interface RowFault {
  readonly at: string;
  readonly must: string;
}

type Check = (value: unknown) => boolean;
interface Rule {
  readonly must: string;
  readonly accepts: Check;
}

const BITS_MAX = (1n << 64n) - 1n;
/** The first millisecond of the year 10000, after which ISO 8601 needs a sign. */
const TIME_MS_MAX = 253_402_300_800_000;
const TEXT_CHARACTERS_MAX = 262_144;
const NAME_CHARACTERS_MAX = 256;
const FILE_NAME = /^(?!\.{1,2}$)[^/\\]+$/;
/** Text that the database can store: it refuses NUL and halves of surrogate pairs. */
export const isStorable = (value: unknown, charactersMax: number): boolean =>
  typeof value === 'string' &&
  value.length <= charactersMax &&
  !value.includes('\0') &&
  !/\p{Cs}/u.test(value);

const isBits: Check = (value) =>
  typeof value === 'string' && /^\d{1,20}$/.test(value) && BigInt(value) <= BITS_MAX;
/** A time that ISO 8601 can express, Unix milliseconds. */
export const isTimeMs = (ms: number): boolean => ms >= 0 && ms < TIME_MS_MAX;
const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/;
export const isTime: Check = (value) =>
  typeof value === 'string' && ISO_TIME.test(value) && isTimeMs(Date.parse(value));
const isName: Check = (value) =>
  typeof value === 'string' && isStorable(value, NAME_CHARACTERS_MAX) && !hasHiddenCharacters(value);

const NAME: Rule = { must: 'be a name without control or text-direction characters', accepts: isName };
const BITS: Rule = { must: 'be a decimal number of at most 64 bits in quotes', accepts: isBits };

/** Names of pictures are parts of the keys of their files. */
const PICTURE: Rule = {
  must: 'be the hash of a picture',
  accepts: (value) => typeof value === 'string' && /^[\w-]{1,128}$/.test(value),
};

/** The next occurrence of an event with another interval would be no date. */
const INTERVAL: Rule = {
  must: 'be an integer from 1 to 1000',
  accepts: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
};

/** Texts that mean the same in every object. */
const FIELDS: Readonly<Record<string, Rule>> = {
  ...{ permissions: BITS, allow: BITS, deny: BITS },
  ...{ nick: NAME, username: NAME, global_name: NAME },
  ...{ avatar: PICTURE, banner: PICTURE, badge: PICTURE, icon: PICTURE, image: PICTURE },
  ...{ splash: PICTURE, discovery_splash: PICTURE, home_header: PICTURE },
  filename: {
    must: 'be a file name without slashes and control characters',
    accepts: (value) =>
      typeof value === 'string' &&
      isStorable(value, LIMITS.attachment_filename_chars_max) &&
      FILE_NAME.test(value) &&
      !hasHiddenCharacters(value),
  },
};

/** Objects whose `name` is one that people choose. Other objects have text in it, as a field of an embed has. */
const NAMED: ReadonlySet<string> = new Set([
  ...['Guild', 'Role', 'GuildChannel', 'Thread', 'ForumTag', 'Emoji', 'GuildSticker', 'SoundboardSound'],
  ...['ScheduledEvent', 'GuildIncomingWebhook', 'Template'],
]);

const TYPES: Readonly<Record<string, Rule>> = {
  string: { must: 'be text', accepts: (value) => isStorable(value, TEXT_CHARACTERS_MAX) },
  integer: {
    must: 'be an integer from 0',
    accepts: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  },
  number: { must: 'be a number', accepts: Number.isFinite },
  boolean: { must: 'be true or false', accepts: (value) => typeof value === 'boolean' },
  null: { must: 'be null', accepts: (value) => value === null },
};
const FORMATS: Readonly<Record<string, Rule>> = {
  snowflake: { must: 'be an id in quotes', accepts: isSnowflake },
  'date-time': { must: 'be a time in ISO 8601', accepts: isTime },
};

/** The rule of a single value by its type, its field and the title of its object. */
function ruleOf({ type = '', format }: RowSchema, field: string, title: string): Rule | undefined {
  if (type === 'integer' && field === 'interval') return INTERVAL;
  if (type !== 'string') return TYPES[type];
  if (format !== undefined && Object.hasOwn(FORMATS, format)) return FORMATS[format];
  if (field === 'name' && NAMED.has(title)) return NAME;
  return Object.hasOwn(FIELDS, field) ? FIELDS[field] : TYPES.string;
}

/**
 * The first fault of a value, or null. Fields that a schema does not name are ignored, but for users: theirs would be shown
 * with every message. Cost: O(size of the value) for each alternative of a schema.
 *
 * @param at The path of the value in its row.
 */
export function faultIn(
  schema: RowSchema,
  value: unknown,
  at: string,
  field = '',
  title = '',
): RowFault | null {
  if (schema.anyOf) return faultInAny(schema.anyOf, value, at, field, title);
  if (schema.enum) {
    const must = `be one of ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}`;
    return schema.enum.includes(value) ? null : { at, must };
  }
  if (schema.type === 'object') return faultInObject(schema, value, at);
  if (schema.type === 'array') return faultInList(schema, value, at, field, title);
  if (schema.type === undefined) return faultInUnknown(value, at);
  const rule = ruleOf(schema, field, title);
  return rule === undefined || rule.accepts(value) ? null : { at, must: rule.must };
}

/** JSON without a schema must be storable. Cost: O(size of the value), which is at most a line. */
function faultInUnknown(value: unknown, at: string): RowFault | null {
  if (typeof value === 'string')
    return isStorable(value, TEXT_CHARACTERS_MAX) ? null : { at, must: 'be text that can be stored' };
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, each] of Object.entries(value)) {
    const fault = isStorable(name, NAME_CHARACTERS_MAX)
      ? faultInUnknown(each, `${at}.${name}`)
      : { at, must: 'have names that can be stored' };
    if (fault) return fault;
  }
  return null;
}

/** The fault in the alternative that fits furthest: the others are of another kind. */
function faultInAny(
  schemas: readonly RowSchema[],
  value: unknown,
  at: string,
  field: string,
  title: string,
): RowFault | null {
  let furthest: RowFault | null = null;
  for (const schema of schemas) {
    const fault = faultIn(schema, value, at, field, title);
    if (fault === null) return null;
    if (furthest === null || fault.at.length > furthest.at.length) furthest = fault;
  }
  return furthest;
}

function faultInList(
  { items }: RowSchema,
  value: unknown,
  at: string,
  field: string,
  title: string,
): RowFault | null {
  if (!Array.isArray(value)) return { at, must: 'be a list' };
  for (const [index, each] of value.entries()) {
    const fault = items ? faultIn(items, each, `${at}[${index}]`, field, title) : null;
    if (fault) return fault;
  }
  return null;
}

function faultInObject(schema: RowSchema, value: unknown, at: string): RowFault | null {
  if (!isRecord(value)) return { at, must: 'be an object' };
  const { title = '', properties = {}, required = [], additionalProperties: others } = schema;
  const missing = required.find((name) => value[name] === undefined);
  if (missing !== undefined) return { at: `${at}.${missing}`, must: 'not be missing' };
  for (const [name, each] of Object.entries(value)) {
    const place = `${at}.${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known === undefined && title === 'User') return { at: place, must: 'not be in a user' };
    const rest = typeof others === 'object' ? others : {};
    const fault = faultIn(known ?? rest, each, place, name, title);
    if (fault) return fault;
  }
  return null;
}
