import type { ReachPorts } from '../../actors/privatechannel/acquaintance.ts';
import type { StoredRelation } from '../../engine/social/facts.ts';
import {
  type Acquaintance,
  type Between,
  mayReach,
  type Through,
  withDefaultPolicy,
} from '../../engine/social/reach.ts';
import type { Refusal } from '../../protocol/refusal.ts';

export interface Reach {
  /** Null when the message is allowed. */
  readonly no: Refusal | null;
  readonly relations: readonly StoredRelation[];
  readonly known: Acquaintance;
}

/**
 * Decides whether one user may write to another before their private channel exists, so that a refused message creates
 * no channel. The owner of the channel decides again.
 */
export async function reachBetween(
  { relationships, contactPolicy }: ReachPorts,
  between: Omit<Between, 'relations'>,
  through: Through,
): Promise<Reach> {
  const [from, to] = [between.from.id, between.to.id];
  const [relations, found] = await Promise.all([
    relationships.among([from, to]),
    relationships.acquaintance(from, to),
  ]);
  const known = withDefaultPolicy(found, contactPolicy);
  const no = mayReach('writing', { ...between, relations }, through, known);
  if (typeof no === 'string') throw new Error(`mayReach requires ${no}, although it was given.`);
  return { no, relations, known };
}
