import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Commit, Storage } from '../../storage/ports.ts';

interface ApplicationPorts {
  readonly storage: Pick<Storage, 'applications'>;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** The flags or the name of an application changed: invalidates everything cached about its bot. */
  forget(botId: UserId): void;
  readonly routing: Routing;
}

export type UpdateApplication = (
  id: ApplicationId,
  change: Partial<Application>,
) => Promise<Reply<Application>>;

/** Updates applications in order, each on the owner shard of the application. */
export function applicationUpdater({
  storage,
  commitAsOwner,
  forget,
  routing,
}: ApplicationPorts): UpdateApplication {
  const mutex = keyedMutex<ApplicationId>();
  const update: UpdateApplication = (id, change) =>
    mutex(id, async () => {
      const application = await storage.applications.get(id);
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const next: Application = { ...application, ...change };
      await commitAsOwner(id, [{ type: 'applicationUpdated', application: next }]);
      if (next.bot_id) forget(next.bot_id);
      return { ok: true, value: next };
    });
  return routing.ask('applications.update', update);
}
