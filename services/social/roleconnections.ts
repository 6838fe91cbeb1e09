import { refused } from '../../engine/kernel/aggregate.ts';
import { declaredOnly, metadataRefusal, NO_CONNECTION } from '../../engine/social/roleconnections.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';
import type { RoleConnections } from './ports.ts';

interface RoleConnectionPorts {
  readonly relationships: Pick<RelationshipStore, 'roleConnection' | 'roleConnectionMetadata'>;
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
}

/** Role connections of users, last write wins. */
export const createRoleConnections = ({ relationships, commit }: RoleConnectionPorts): RoleConnections => ({
  get: async (userId, applicationId) =>
    (await relationships.roleConnection(userId, applicationId)) ?? NO_CONNECTION,
  async set(userId, applicationId, connection) {
    const declared = declaredOnly(connection, await relationships.roleConnectionMetadata(applicationId));
    if (!declared.ok) return declared;
    const fact = {
      type: 'roleConnectionChanged',
      userId,
      applicationId,
      connection: declared.value,
    } as const;
    await commit(userId, [fact]);
    return declared;
  },
  async remove(userId, applicationId) {
    await commit(userId, [{ type: 'roleConnectionChanged', userId, applicationId, connection: null }]);
    return { ok: true, value: null };
  },
  metadata: (applicationId) => relationships.roleConnectionMetadata(applicationId),
  async setMetadata(applicationId, metadata) {
    const no = metadataRefusal(metadata);
    if (no) return refused(no);
    await commit(applicationId, [{ type: 'roleConnectionMetadataChanged', applicationId, metadata }]);
    return { ok: true, value: metadata };
  },
});
