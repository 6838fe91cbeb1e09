import { createHash } from 'node:crypto';
import { compileForm, type Read } from './form.ts';
import type { AnyOperation } from './operation.ts';
import { OPERATIONS } from './operations.generated.ts';

/** One operation, ready to be called. */
export interface Entry {
  readonly operationId: string;
  readonly method: string;
  /** Under the API's base, parameters as `:name`. */
  readonly path: string;
  /** Null for an operation of the platform that is not built here yet. */
  readonly operation: AnyOperation | null;
  readonly readQuery: (value: unknown) => Read;
  readonly readBody: (value: unknown) => Read;
  /** What `X-RateLimit-Bucket` says: opaque, and the same for all operations that share counters. */
  readonly bucketHash: string;
}

/** Every operation by operationId: those built; the rest of the platform's are answered 404 by name. */
export type Catalog = ReadonlyMap<string, Entry>;

const ignore = (): Read => ({ ok: true, value: {} });
const hash = (group: string): string => createHash('sha256').update(group).digest('hex').slice(0, 32);

/**
 * Compiles the declared operations into a catalogue.
 *
 * @throws Error when a schema is outside the vocabulary of `schema.ts`.
 */
export function createCatalog(operations: Readonly<Record<string, AnyOperation>>): Catalog {
  const catalog = new Map<string, Entry>();
  for (const [operationId, operation] of Object.entries(operations)) {
    const { method, path, query, body, bucket } = operation;
    catalog.set(operationId, {
      operationId,
      method,
      path,
      operation,
      readQuery: query ? compileForm(query, true) : ignore,
      readBody: body ? compileForm(body) : ignore,
      bucketHash: hash(bucket.group ?? operationId),
    });
  }
  for (const line of OPERATIONS) {
    const [operationId = '', method = '', path = ''] = line.split(' ');
    if (catalog.has(operationId)) continue;
    const entry = { operationId, method, path, operation: null, readQuery: ignore, readBody: ignore };
    catalog.set(operationId, { ...entry, bucketHash: hash('not built') });
  }
  return catalog;
}
