import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { type Reply, refused } from '../kernel/aggregate.ts';
import type { RoleConnection, RoleConnectionMetadata } from './facts.ts';

/** `__proto__` is no key of plain objects. */
const KEY = /^(?!__proto__$)[a-z0-9_]+$/;
const INTEGER = /^-?\d{1,15}$/;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/;

const isInteger = (value: string): boolean => INTEGER.test(value);
const isDate = (value: string): boolean => DATE.test(value) && !Number.isNaN(Date.parse(value));
const isBoolean = (value: string): boolean => value === '0' || value === '1';

/**
 * Whether text has the format of a value, by metadata type.
 *
 * @source https://docs.discord.com/developers/resources/application-role-connection-metadata,
 * "Application Role Connection Metadata Type"
 */
const isValue: Readonly<Record<number, (value: string) => boolean>> = {
  ...{ 1: isInteger, 2: isInteger, 3: isInteger, 4: isInteger },
  ...{ 5: isDate, 6: isDate },
  ...{ 7: isBoolean, 8: isBoolean },
};

/** The connection of a user who has none. */
export const NO_CONNECTION: RoleConnection = { platform_name: '', platform_username: null, metadata: {} };

/** The refusal of metadata whose keys repeat or have other characters than lowercase letters, digits and `_`. */
export function metadataRefusal(metadata: readonly Pick<RoleConnectionMetadata, 'key'>[]): Refusal | null {
  const seen = new Set<string>();
  for (const [index, { key }] of metadata.entries()) {
    const path = [index, 'key'];
    if (!KEY.test(key))
      return invalidField(
        path,
        'APPLICATION_ROLE_CONNECTION_METADATA_KEY_INVALID',
        'Expected only a-z, 0-9 and _, and not __proto__.',
      );
    if (seen.has(key))
      return invalidField(
        path,
        'APPLICATION_ROLE_CONNECTION_METADATA_KEY_DUPLICATE',
        'An earlier record has this key.',
      );
    seen.add(key);
  }
  return null;
}

/** Validates the values of a connection; drops those whose keys the application has not declared. */
export function declaredOnly(
  connection: RoleConnection,
  declared: readonly RoleConnectionMetadata[],
): Reply<RoleConnection> {
  const metadata: Record<string, string> = {};
  for (const { key, type } of declared) {
    const value = Object.hasOwn(connection.metadata, key) ? connection.metadata[key] : undefined;
    if (value === undefined) continue;
    if (!isValue[type]?.(value)) {
      const message = 'The value does not have the type of its key.';
      return refused(invalidField(['metadata', key], 'BASE_TYPE_INVALID', message));
    }
    metadata[key] = value;
  }
  return { ok: true, value: { ...connection, metadata } };
}
