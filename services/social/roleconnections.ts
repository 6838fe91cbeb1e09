import type { Reply } from '../../engine/kernel/outcome.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';
import type { RoleConnections } from './ports.ts';

interface RoleConnectionPorts {
  readonly relationships: Pick<RelationshipStore, 'roleConnection' | 'roleConnectionMetadata'>;
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
}

const DONE: Reply<null> = { ok: true, value: null };

/** Role connections of users, last write wins. */
export const createRoleConnections = ({ relationships, commit }: RoleConnectionPorts): RoleConnections => ({
  get: (userId, applicationId) => relationships.roleConnection(userId, applicationId),
  async set(userId, applicationId, connection) {
    await commit(userId, [{ type: 'roleConnectionChanged', userId, applicationId, connection }]);
    return DONE;
  },
  metadata: (applicationId) => relationships.roleConnectionMetadata(applicationId),
  async setMetadata(applicationId, metadata) {
    await commit(applicationId, [{ type: 'roleConnectionMetadataChanged', applicationId, metadata }]);
    return DONE;
  },
});
