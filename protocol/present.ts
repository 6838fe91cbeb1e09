/**
 * Asserts a value that the surrounding code guarantees: an index within bounds, a key just added to a map.
 *
 * @throws TypeError when the value is missing.
 */
export function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new TypeError('A required value is null or undefined.');
  return value;
}

/** The keys of an object whose type names all of them. */
export function keysOf<T extends object>(record: T): (keyof T & string)[] {
  return Object.keys(record) as (keyof T & string)[];
}
