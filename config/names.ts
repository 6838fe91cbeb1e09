import { nearest } from './nearest.ts';

/**
 * Checks the names of options. An ignored misspelt one would leave a default in place unnoticed.
 *
 * @throws RangeError for a name that is not known, with the nearest that is.
 */
export function checkNames(given: object, known: readonly string[], of: string): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue;
    const near = nearest(name, known);
    const hint = near === null ? `Options are ${known.join(', ')}.` : `Did you mean ${near}?`;
    throw new RangeError(`${name} is not an option of ${of}. ${hint}`);
  }
}
