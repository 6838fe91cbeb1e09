import { type Acquaintance, withDefaultPolicy } from '../../engine/social/reach.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';

export interface ReachPorts {
  readonly relationships: Pick<RelationshipStore, 'among' | 'acquaintance'>;
  /** Default contact policy of users who have not chosen one. */
  readonly contactPolicy: ContactPolicy;
}

/**
 * The relationship of two users according to the database, with the server's default contact policy for users who
 * have not chosen one.
 */
export async function acquaintanceOf(
  { relationships, contactPolicy }: ReachPorts,
  from: UserId,
  to: UserId,
): Promise<Acquaintance> {
  return withDefaultPolicy(await relationships.acquaintance(from, to), contactPolicy);
}
