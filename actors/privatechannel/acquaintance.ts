import { type Acquaintance, withDefaultPolicy } from '../../engine/social/reach.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';

export interface ReachPorts {
  readonly relationships: Pick<RelationshipStore, 'among' | 'acquaintance'>;
  /** Who may write to people who have not chosen. */
  readonly contactPolicy: ContactPolicy;
}

/** What the database says of two users, with the server's default for who has not chosen. */
export async function acquaintanceOf(
  { relationships, contactPolicy }: ReachPorts,
  from: UserId,
  to: UserId,
): Promise<Acquaintance> {
  return withDefaultPolicy(await relationships.acquaintance(from, to), contactPolicy);
}
