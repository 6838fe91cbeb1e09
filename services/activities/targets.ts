import { mappedTargets } from '../../engine/application/mappings.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import { createReadCache } from '../readcache.ts';

type Target = ReturnType<ReturnType<typeof mappedTargets>>;

interface TargetPorts {
  readonly storage: { readonly applications: Pick<Storage['applications'], 'get'> };
  readonly clock: { monotonic(): number };
}

/**
 * Where an application's activity serves a path, by the URL mappings of the application. Returned at once while the
 * mappings are cached.
 */
export function activityTargets({
  storage,
  clock,
}: TargetPorts): (id: ApplicationId, path: string) => Target | Promise<Target> {
  const mappings = createReadCache(
    async (id: ApplicationId) =>
      mappedTargets((await storage.applications.get(id))?.activity?.urlMappings ?? []),
    () => clock.monotonic(),
  );
  return (id, path) => {
    const known = mappings.peek([id]);
    return known ? known(path) : mappings.read([id]).then((targetOf) => targetOf(path));
  };
}
