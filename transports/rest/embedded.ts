import type { ApiOptions, ApiParams } from '../../embedding.ts';
import { ApiError } from '../../protocol/apierror.ts';
import { isUserId, type UserId } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import type { Storage } from '../../storage/ports.ts';
import { known, type Nearest } from './hooks.ts';
import type { Caller } from './operation.ts';
import type { Pipeline } from './pipeline.ts';
import type { Api } from './typed.ts';

interface EmbeddedPorts {
  readonly operationIds: readonly string[];
  readonly pipeline: Pipeline;
  readonly storage: Pick<Storage, 'users' | 'applications'>;
  readonly publicUrl: () => string;
  readonly nearest: Nearest;
}

/** Property names that the language and test tools read from any object. */
const ASKED_OF_ANY = /^(?:then|toJSON|inspect|asymmetricMatch|nodeType|tagName|[$@]{2}.*)$/;

/**
 * The operations for the embedding program: they run through the same pipeline as calls over HTTP. `call` takes the name of
 * the operation, `api` has a function for each; an unknown name of `api` throws.
 */
export function embeddedCalls(ports: EmbeddedPorts) {
  const { pipeline } = ports;

  /** Lookups in progress: concurrent calls as the same user share one. */
  const lookups = new Map<UserId, Promise<Caller>>();

  async function callerOf(userId: string | null): Promise<Caller | null> {
    if (userId === null) return null;
    if (!isUserId(userId)) throw new RangeError(`Expected a user id (a snowflake), got "${userId}".`);
    const known = lookups.get(userId);
    if (known) return known;
    const lookup = lookUp(userId).finally(() => lookups.delete(userId));
    lookups.set(userId, lookup);
    return lookup;
  }

  async function lookUp(userId: UserId): Promise<Caller> {
    const [user] = await ports.storage.users.get([userId]);
    if (!user) throw new RangeError(`Unknown user: ${userId}.`);
    const application = user.bot ? await ports.storage.applications.byBot(userId) : null;
    return {
      kind: user.bot ? 'bot' : 'user',
      userId,
      applicationId: application?.id ?? null,
      applicationFlags: application?.flags ?? 0,
      authorization: null,
    };
  }

  async function call(operationId: string, given: ApiParams, by: ApiOptions): Promise<unknown> {
    const caller = await callerOf(by.as);
    const { params, query, body, files } = given;
    const { status, body: answer } = await pipeline.invoke(operationId, {
      ...(params && { params }),
      ...(query && { query }),
      ...(body !== undefined && { body }),
      ...(files && { files }),
      caller,
      reason: by.reason ?? null,
      publicUrl: ports.publicUrl(),
      address: null,
    });
    if (status >= 400)
      throw new ApiError({ status, code: 0, message: '', ...(isRecord(answer) ? answer : {}) });
    return answer;
  }

  return { api: typedApi(ports.operationIds, call, ports.nearest), call };
}

/** `create_message` as `createMessage`. */
const camelCase = (operationId: string): string =>
  operationId.replace(/_(.)/g, (_, next: string) => next.toUpperCase());

type OperationCall = (operationId: string, given: ApiParams, by: ApiOptions) => Promise<unknown>;

/** One function for both spellings: the caller is the second argument, or among the fields of the first. */
function typedApi(operationIds: readonly string[], call: OperationCall, nearest: Nearest): Api {
  const functions = Object.create(null);
  for (const operationId of operationIds) {
    const run = async (given: Partial<ApiParams & ApiOptions> = {}, by: Partial<ApiOptions> = given) => {
      const { as, ...more } = by;
      if (as === undefined)
        throw new TypeError(
          `${operationId} needs "as": the id of a user or bot to act as, or null for nobody.`,
        );
      return call(operationId, given, { ...more, as });
    };
    // Not enumerable, so that a program that lists the operations finds each one once.
    Object.defineProperty(functions, camelCase(operationId), { value: run, configurable: true });
    Object.defineProperty(functions, operationId, { value: run, configurable: true, enumerable: true });
  }
  const names = new Set(Object.getOwnPropertyNames(functions));
  return new Proxy(functions, {
    get(_, name) {
      if (typeof name === 'string' && !ASKED_OF_ANY.test(name)) known('operation', name, names, nearest);
      return functions[name];
    },
  });
}
