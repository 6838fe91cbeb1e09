import {
  type Static,
  type TArray,
  type TEnum,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  type TUnsafe,
  Type,
} from 'typebox';
import { isSnowflake } from '../ids.ts';
import { readLink } from '../links.ts';
import { nameProblem } from '../names.ts';
import { isCalendarDay } from '../timestamps.ts';

/**
 * The vocabulary of request schemas. They are JSON Schema (typebox); the annotation `form` tells
 * `transports/rest/validate.ts` which other spellings the platform accepts (an id as a number, a permission set as an
 * integer) and which leaf of error 50035 an invalid value gets. Lengths count code points: 2000 astral characters have
 * length 2000.
 */
export type Form = 'snowflake' | 'permissions' | 'timestamp' | 'image' | 'name' | 'url';

/**
 * Bytes of a decoded image in a data URI.
 *
 * @source https://docs.discord.com/developers/reference#uploading-files; its bound for any file
 */
export const IMAGE_BYTES_MAX = 10 * 1024 * 1024;

// Matches only the start: a pattern over megabytes of base64 would overflow the matcher's stack. `transports/rest/image.ts` checks the bytes.
const DATA_URI = /^data:image\/(?:png|jpe?g|gif|webp);base64,./;
const IMAGE_TEXT_MAX = Math.ceil((IMAGE_BYTES_MAX * 4) / 3) + 64;
const TIMESTAMP =
  /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?$/;
const PERMISSIONS_MAX = (1n << 64n) - 1n;

/** An id with brand `Id`. JSON integers are accepted with all their digits. The value is a decimal string below 2^63. */
export const Snowflake = <Id extends string = string>() =>
  Type.Refine(Type.String({ form: 'snowflake' satisfies Form }), isSnowflake) as TSchema as TUnsafe<Id>;

/**
 * A string of `min` to `max` code points. A number is accepted as its decimal text, as on the platform, unless it is an
 * integer beyond 64 bits, whose exact digits are unknown.
 */
export const Str = (min: number, max: number) => Type.String({ minLength: min, maxLength: max });

/**
 * A name: `Str` that refuses invisible characters and must contain a visible one. Surrounding spaces do not count towards
 * `min`; with a `min` of 0, text of spaces only means no name.
 */
export const NameText = (min: number, max: number) =>
  Type.Refine(
    Type.String({ form: 'name' satisfies Form, minLength: min, maxLength: max }),
    (text) => wrongName(text) === null && !isTooShort(text.trim(), min),
  );

/** An http(s) URL of at most `max` characters, normalized to a URI: characters that browsers leave unescaped are escaped. */
export const Url = (max: number) =>
  Type.Refine(Type.String({ form: 'url' satisfies Form, maxLength: max }), (text) => readLink(text, max).ok);

/** The problem with a name's characters, whatever its length: text of spaces only is too short, not invalid. */
export const wrongName = (text: string) => (/^ *$/.test(text) ? null : nameProblem(text));

const isTooShort = (text: string, min: number): boolean =>
  text.length < min || (text.length < min * 2 && [...text].length < min);

/** An integer from `min` to `max`, both included. Decimal text is accepted. */
export const Int = (min: number, max: number) => Type.Integer({ minimum: min, maximum: max });

/** A finite number from `min` to `max`, both included. */
export const Num = (min: number, max: number) => Type.Number({ minimum: min, maximum: max });

/** A bit field of 31 bits; the handler refuses or ignores unknown bits. */
export const Flags = () => Int(0, 2 ** 31 - 1);

export const Bool = () => Type.Boolean();

/** One of these values. */
export const Choice = <const T extends (string | number)[]>(...values: T): TEnum<T> =>
  Type.Enum(values) as TEnum<T>;

/** The value or `null`. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** The key may be absent. Combine as `Optional(Nullable(Str(1, 100)))`. */
export const Optional = <T extends TSchema>(schema: T) => Type.Optional(schema);

/** An object; unknown keys are dropped, as the platform ignores them. */
export const Obj = <T extends TProperties>(properties: T): TObject<T> => Type.Object(properties);

/** A list of `min` to `max` elements. */
export const Arr = <T extends TSchema>(items: T, max: number, min = 0): TArray<T> =>
  Type.Array(items, { minItems: min, maxItems: max });

/**
 * A map from any key to `value` with at most `max` entries. The pattern is explicit because that of `Type.String()` does not
 * match a key with a line break, so the value of such a key would not be validated.
 */
export const Dict = <T extends TSchema>(value: T, max: number) =>
  Type.Record(Type.String({ pattern: '^[\\s\\S]*$' }), value, { maxProperties: max });

/** One of several schemas; errors are those of the closest one. */
export const OneOf = <T extends TSchema[]>(...schemas: T): TUnion<T> => Type.Union(schemas) as TUnion<T>;

/** Any JSON within the bounds of the body; the handler validates it. */
export const Any = () => Type.Unknown();

/** ISO 8601, with or without an offset. Keeps the client's text, which `Date.parse` accepts. */
export const Timestamp = () =>
  Type.Refine(
    Type.String({ form: 'timestamp' satisfies Form }),
    (text) => TIMESTAMP.test(text) && !Number.isNaN(Date.parse(text)) && isCalendarDay(text),
  );

/** A data URI of a png, jpeg, gif or webp of at most 10 MiB. `transports/rest/image.ts` checks the bytes. */
export const ImageData = () =>
  Type.Refine(
    Type.String({ form: 'image' satisfies Form }),
    (text) => text.length <= IMAGE_TEXT_MAX && DATA_URI.test(text),
  );

/** A permission set as a decimal string below 2^64; an integer is accepted too. */
export const PermissionBits = () =>
  Type.Refine(
    Type.String({ form: 'permissions' satisfies Form }),
    (text) => /^\d{1,20}$/.test(text) && BigInt(text) <= PERMISSIONS_MAX,
  );

export type { Static, TSchema };
