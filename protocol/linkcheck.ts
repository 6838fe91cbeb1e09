import type { Method } from './link.ts';

/**
 * The fault in the arguments of a call from another shard; null when they are valid. Extra arguments are ignored.
 */
export function malformedArgs(
  name: string,
  { args: schemas }: Method,
  args: readonly unknown[],
): string | null {
  let at = 0;
  for (const schema of schemas) {
    if (!schema.accepts(args[at]))
      return `Malformed call of ${name}: argument ${at + 1} must be ${schema.name}, got ${kindOf(args[at])}.`;
    at += 1;
  }
  return null;
}

/** The fault in a reply of another shard; null when it is valid. */
export function malformedReply(name: string, { reply: schema }: Method, value: unknown): string | null {
  return schema.accepts(value)
    ? null
    : `Malformed reply of ${name}: expected ${schema.name}, got ${kindOf(value)}.`;
}

/** The type of a value for error messages, never its content, which may be secret. */
const kindOf = (value: unknown): string => (value === null ? 'null' : typeof value);
