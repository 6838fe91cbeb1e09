import { createHash } from 'node:crypto';
import { BODY_BYTES, bodyBytesMaxOf } from './bodysize.ts';
import type { AnyOperation } from './operation.ts';
import { OPERATIONS } from './operations.generated.ts';
import { compileValidator, type Validate } from './validate.ts';

/** A parameter of a path, without its colon. */
interface PathParameter {
  readonly name: string;
  readonly isId: boolean;
}

/** One operation with its compiled readers. */
export interface CatalogEntry {
  readonly operationId: string;
  readonly method: string;
  /** Path below the API's base, with parameters as `:name`. */
  readonly path: string;
  readonly params: readonly PathParameter[];
  /** Whether the answer may contain messages, whose attachments are signed. */
  readonly holdsMessages: boolean;
  /** Null for an operation of the platform that this server does not implement yet. */
  readonly operation: AnyOperation | null;
  /** Null for an operation that takes none. */
  readonly readQuery: ((value: unknown) => Validate) | null;
  readonly readBody: ((value: unknown) => Validate) | null;
  /** The largest JSON body or fields of a form, and the largest form with files, in bytes. */
  readonly bodyBytesMax: number;
  readonly multipartBytesMax: number;
  /** Value of `X-RateLimit-Bucket`: opaque, and equal for all operations that share counters. */
  readonly bucketHash: string;
}

/**
 * Every operation by operationId: the implemented ones, and the rest of the platform's, which are answered with 404.
 */
export type Catalog = ReadonlyMap<string, CatalogEntry>;

const hash = (group: string): string => createHash('sha256').update(group).digest('hex').slice(0, 32);

/** Every `…_id` of the platform is a snowflake but `instance_id`, which names a session. */
const paramsOf = (path: string): readonly PathParameter[] =>
  (path.match(/:\w+/g) ?? []).map((found) => {
    const name = found.slice(1);
    return { name, isId: name.endsWith('_id') && name !== 'instance_id' };
  });

const holdsMessages = (path: string): boolean =>
  path.includes('/messages') ||
  path.endsWith('/pins') ||
  path.endsWith('/callback') ||
  path.endsWith('/attachment') ||
  path.endsWith('/:webhook_token');

/**
 * Compiles the declared operations into a catalogue.
 *
 * @throws Error when a schema uses keywords that `protocol/schemas/request.ts` does not produce.
 */
export function createCatalog(operations: Readonly<Record<string, AnyOperation>>): Catalog {
  const catalog = new Map<string, CatalogEntry>();
  for (const [operationId, operation] of Object.entries(operations)) {
    const { method, path, query, body, bucket } = operation;
    catalog.set(operationId, {
      operationId,
      method,
      path,
      params: paramsOf(path),
      holdsMessages: holdsMessages(path),
      operation,
      readQuery: query ? compileValidator(query, true) : null,
      readBody: body ? compileValidator(body) : null,
      bodyBytesMax: bodyBytesMaxOf(operation, false),
      multipartBytesMax: bodyBytesMaxOf(operation, true),
      bucketHash: hash(bucket.group ?? operationId),
    });
  }
  for (const line of OPERATIONS) {
    const [operationId = '', method = '', path = ''] = line.split(' ');
    if (catalog.has(operationId)) continue;
    catalog.set(operationId, {
      ...{ operationId, method, path, operation: null, readQuery: null, readBody: null },
      ...{ params: paramsOf(path), holdsMessages: false },
      ...{ bodyBytesMax: BODY_BYTES.open, multipartBytesMax: BODY_BYTES.open },
      bucketHash: hash('not built'),
    });
  }
  return catalog;
}
