import type { FreshId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';

/** The time and ids that a rule may use. They are arguments, so that rules stay pure and tests can replay them. */
export interface Env {
  /** When the command was accepted for decision, Unix milliseconds. */
  readonly nowMs: number;
  /** The next snowflake of this shard; strictly ascending. */
  nextId(): FreshId;
  /** A moment of the day whose dated rules apply (protocol/dates.ts), Unix milliseconds; absent for all of them. */
  readonly rulesMs?: number;
}

/**
 * The result of a rule: a value and the facts that make it true, or the platform's refusal. A refusal may have facts too:
 * what a blocked message leads to. The caller hears of it when they are durable.
 */
export type Outcome<Value, Fact> =
  | { readonly ok: true; readonly value: Value; readonly facts: readonly Fact[] }
  | { readonly ok: false; readonly refusal: Refusal; readonly facts?: readonly Fact[] };

export const accepted = <Value, Fact>(value: Value, facts: readonly Fact[] = []): Outcome<Value, Fact> => ({
  ok: true,
  value,
  facts,
});

export const refused = (refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal,
});

/** The facts of an outcome, whatever was answered. */
export const factsOf = <Fact>({ facts = [] }: Outcome<unknown, Fact>): readonly Fact[] => facts;

/** The reply to the caller of an aggregate: a value once it is durable, or a refusal. Faults are thrown. */
export type Reply<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };
