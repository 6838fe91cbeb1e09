import type { ApiOptions, ApiParams, Engine } from '../../embedding.ts';
import { ApiError } from '../../protocol/apierror.ts';
import { isUserId, type UserId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Caller } from './operation.ts';
import type { Pipeline } from './pipeline.ts';

interface EmbeddedPorts {
  readonly operationIds: readonly string[];
  readonly pipeline: Pipeline;
  readonly storage: Pick<Storage, 'users' | 'applications'>;
  readonly publicUrl: () => string;
}

/** The operations for the embedding program: they run through the same pipeline as calls over HTTP. */
export function embeddedCalls(ports: EmbeddedPorts): Engine['api'] {
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

  const embedded =
    (operationId: string) =>
    async (call: ApiParams, options: ApiOptions): Promise<unknown> => {
      const caller = await callerOf(options.as);
      const { status, body } = await pipeline.invoke(operationId, {
        ...call,
        caller,
        reason: options.reason ?? null,
        publicUrl: ports.publicUrl(),
        address: null,
      });
      if (status >= 400) throw new ApiError({ status, ...(body as Omit<Refusal, 'status'>) });
      return body;
    };

  return Object.fromEntries(
    ports.operationIds.map((operationId) => [operationId, embedded(operationId)]),
  ) as Engine['api'];
}
