import type { StoredRelation } from '../../engine/social/facts.ts';
import { type Acquaintance, type Between, mayReach, type Through } from '../../engine/social/reach.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { RelationshipStore } from '../../storage/ports.relationships.ts';

export interface ReachPorts {
  readonly relationships: Pick<RelationshipStore, 'among' | 'acquaintance'>;
  /** Who may write to people who have not chosen. */
  readonly contactPolicy: ContactPolicy;
}

export interface Reach {
  /** Null: one may write to the other. */
  readonly no: Refusal | null;
  readonly relations: readonly StoredRelation[];
  readonly known: Acquaintance;
}

/** What the database says of two users, with the server's default for who has not chosen. */
export async function acquaintanceOf(
  { relationships, contactPolicy }: ReachPorts,
  from: UserId,
  to: UserId,
): Promise<Acquaintance> {
  const found = await relationships.acquaintance(from, to);
  return { ...found, policy: found.policy ?? contactPolicy };
}

/**
 * Whether one may write to another, before there is a private channel whose owner would decide it: so that a refused
 * message opens none. The owner decides it again.
 */
export async function reachBetween(
  ports: ReachPorts,
  between: Omit<Between, 'relations'>,
  through: Through,
): Promise<Reach> {
  const [from, to] = [between.from.id, between.to.id] as [UserId, UserId];
  const [relations, known] = await Promise.all([
    ports.relationships.among([from, to]),
    acquaintanceOf(ports, from, to),
  ]);
  const no = mayReach('writing', { ...between, relations }, through, known);
  if (typeof no === 'string') throw new Error(`The rule asks for what it was given: ${no}.`);
  return { no, relations, known };
}
