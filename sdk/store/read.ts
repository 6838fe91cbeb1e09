import { isJson, type Json } from '../voice/wire.ts';

/** Typed readers of network data: each returns `d[key]` when it has the type, else null. */
export const textOf = (d: Json, key: string): string | null => {
  const value = d[key];
  return typeof value === 'string' ? value : null;
};

export const numberOf = (d: Json, key: string): number | null => {
  const value = d[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
};

export const jsonOf = (d: Json, key: string): Json | null => {
  const value = d[key];
  return isJson(value) ? value : null;
};

/** The objects of a list; empty for anything else. */
export const listOf = (d: Json, key: string): Json[] => {
  const value = d[key];
  return Array.isArray(value) ? value.filter(isJson) : [];
};

const ID = /^\d{1,20}$/;

/** A snowflake as decimal text; null for anything else. */
export const idOf = (d: Json, key: string): string | null => {
  const value = d[key];
  return typeof value === 'string' && ID.test(value) ? value : null;
};

/** A string map such as metadata; entries of other types are dropped. */
export function mapOf(d: Json, key: string): Readonly<Record<string, string>> {
  const value = jsonOf(d, key);
  if (value === null) return {};
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}

/** Unix milliseconds of an ISO 8601 time; 0 when there is none. */
export const timeOf = (d: Json, key: string): number => Date.parse(textOf(d, key) ?? '') || 0;

const EPOCH_MS = 1_420_070_400_000;

/** Creation time of an id, Unix milliseconds. */
export const madeMs = (id: string): number => (ID.test(id) ? Number(BigInt(id) >> 22n) + EPOCH_MS : 0);

/** Ascending numeric order of ids, which are decimal texts of any length. */
export const byId = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
