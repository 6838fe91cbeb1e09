import { isSnowflake } from '../../protocol/ids.ts';
import { dataSchema } from './guildrows.ts';
import { faultIn, isStorable, isTime, isTimeMs, type RowFault } from './rowcheck.ts';

/** A column of a table, as the database describes it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly nullable: string;
  readonly identity: string;
}

const INT8_MAX = (1n << 63n) - 1n;
const INTEGERS: Readonly<Record<string, number>> = { smallint: 32_767, integer: 2_147_483_647 };
/** Text columns with a time. */
const TIMES: ReadonlySet<string> = new Set(['temporary_since', 'timed_out_until', 'join_timestamp']);
/** Text columns with one of some words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  kind: ['emoji', 'sticker', 'sound'],
  status: ['STARTED', 'SUBMITTED', 'REJECTED', 'APPROVED'],
};
const TEXT_CHARACTERS_MAX = 262_144;
const MICROSECONDS = 1_000n;

/** The fault of a row of a guild's table, or null. Columns that the table does not have are ignored. */
export function faultInRow(
  table: string,
  row: Readonly<Record<string, unknown>>,
  columns: readonly Column[],
): RowFault | null {
  for (const column of columns) {
    const { name, type, nullable, identity } = column;
    const value = row[name] ?? null;
    if (value === null) {
      if (nullable === 'NO' && identity === 'NO') return { at: name, must: 'not be missing' };
    } else if (type === 'jsonb') {
      const schema = dataSchema(table, row);
      if (schema === null) return { at: name, must: 'be of a known kind' };
      const fault = faultIn(schema, value, name);
      if (fault) return fault;
    } else {
      const must = scalarFault(column, value);
      if (must !== null) return { at: name, must };
    }
  }
  return null;
}

/** What a value of a column must be; null when it is. */
function scalarFault({ name, type }: Column, value: unknown): string | null {
  if (type === 'bigint') return bigintFault(name, value);
  if (type === 'boolean') return typeof value === 'boolean' ? null : 'be true or false';
  if (type === 'ARRAY')
    return Array.isArray(value) && value.every((each) => isSnowflake(each))
      ? null
      : 'be a list of ids in quotes';
  const max = INTEGERS[type];
  if (max !== undefined) {
    const isWithin = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
    return isWithin ? null : `be an integer from 0 to ${max}`;
  }
  const words = WORDS[name];
  if (words !== undefined)
    return words.some((word) => word === value) ? null : `be one of ${words.join(', ')}`;
  if (TIMES.has(name)) return isTime(value) ? null : 'be a time in ISO 8601';
  return isStorable(value, TEXT_CHARACTERS_MAX) ? null : 'be text';
}

/** A bigint is an id, or a time by the last letters of its column. */
function bigintFault(name: string, value: unknown): string | null {
  const digits = String(value);
  if (!/^\d{1,19}$/.test(digits) || BigInt(digits) > INT8_MAX) return 'be an integer of at most 63 bits';
  const isTimed = /_(?:ms|us)$/.test(name);
  if (!isTimed) return isSnowflake(digits) ? null : 'be an id';
  const ms = name.endsWith('_us') ? BigInt(digits) / MICROSECONDS : BigInt(digits);
  return isTimeMs(Number(ms)) ? null : 'be a time before the year 10000';
}
