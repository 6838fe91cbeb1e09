// Parsers of flag values, and their errors.
import { InvalidArgumentError } from 'commander';

/** Collects the values of a repeatable flag. */
export const collect = (value: string, earlier: readonly string[]): string[] => [...earlier, value];

/** A number from `min` to `max`, both included. */
export const numberFrom = (min: number, max: number) => between(min, max, false);
/** A whole number from `min` to `max`, both included. */
export const wholeFrom = (min: number, max: number) => between(min, max, true);

function between(min: number, max: number, isInteger: boolean): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max && (!isInteger || Number.isInteger(value)))
      return value;
    throw new InvalidArgumentError(`It must be a${isInteger ? ' whole' : ''} number from ${min} to ${max}.`);
  };
}

/** Parses one of the given words. */
export function oneOf<T extends string>(...values: readonly T[]): (text: string) => T {
  return (text) => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new InvalidArgumentError(`It must be one of ${values.join(', ')}.`);
    return value;
  };
}
