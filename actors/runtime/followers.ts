/**
 * What other parts of the server are told of an aggregate's durable facts: one row for each type that concerns one. `To`
 * is what the rows may call.
 */
export type Followers<Fact extends { readonly type: string }, To> = {
  readonly [K in Fact['type']]?: (fact: Extract<Fact, { readonly type: K }>, to: To) => void;
};

/** Runs the rows of the facts, in their order. */
export function tellFollowers<Fact extends { readonly type: string }, To>(
  followers: Followers<Fact, To>,
  facts: readonly Fact[],
  to: To,
): void {
  for (const fact of facts) {
    const row: ((fact: never, to: To) => void) | undefined = followers[fact.type as Fact['type']];
    // The row has the type of the fact: both have the same name.
    row?.(fact as never, to);
  }
}
