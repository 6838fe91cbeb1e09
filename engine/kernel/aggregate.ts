import type { Refusal } from '../../protocol/refusal.ts';
import type { Authority } from './authority.ts';
import { factsOf, type Outcome, refused } from './outcome.ts';
import type { CommandRow, Commands, Consequence, FactOf, FactRow, Shape } from './topic.ts';

/** The rules of one aggregate: what its actor runs. Pure and synchronous. */
export interface Aggregate<S extends Shape, C extends Commands> {
  readonly name: string;
  /** The reply to every command when the aggregate does not exist. */
  readonly missing: Refusal;
  readonly commands: { readonly [N in keyof C]: CommandRow<S, C[N]['input'], C[N]['value']> };
  readonly facts: {
    readonly [K in keyof S['facts'] & string]: FactRow<
      S['state'],
      { readonly type: K } & S['facts'][K],
      S['dispatch']
    >;
  };
  /** Rows that a command and its authorization need in the windows before the decision. */
  needs<N extends keyof C>(
    state: S['state'],
    type: N,
    input: C[N]['input'],
    authority: Authority,
  ): S['needs'];
  /** Checks the caller, then applies the command's own rule, then adds the facts that follow. */
  decide<N extends keyof C>(
    state: S['state'],
    type: N,
    input: C[N]['input'],
    authority: Authority,
    env: S['env'],
  ): Outcome<C[N]['value'], FactOf<S['facts']>>;
  /** Applies a fact and returns its dispatches. */
  happen(state: S['state'], fact: FactOf<S['facts']>): readonly S['dispatch'][];
  /** Applies a fact whose dispatches were already sent. */
  apply(state: S['state'], fact: FactOf<S['facts']>): void;
  isDurable(fact: FactOf<S['facts']>): boolean;
}

/** The commands of an aggregate, by name, with their inputs and values. */
export type CommandsOf<A> = A extends Aggregate<infer _S, infer C> ? C : never;

/** A topic as far as a list of topics is typed; its rows have the exact types. */
interface AnyTopic {
  readonly commands: object;
  readonly facts: object;
}

type Together<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer All) => void
  ? All
  : never;

type CommandsIn<S extends Shape, Rows> = {
  [N in keyof Rows]: Rows[N] extends CommandRow<S, infer Input extends object, infer Value>
    ? { input: Input; value: Value }
    : never;
};

/** Facts of the aggregate without a row in any topic. */
type MissingRows<S extends Shape, T extends readonly AnyTopic[]> = Exclude<
  keyof S['facts'],
  keyof Together<T[number]['facts']>
>;

interface Request<S extends Shape> {
  /** The row of the command. */
  readonly row: S['row'];
  readonly input: object;
  readonly authority: Authority;
}

interface Given<S extends Shape, T extends readonly AnyTopic[]> {
  readonly name: string;
  readonly missing: Refusal;
  /** Together they have a row for each command and each fact of the aggregate. */
  readonly topics: MissingRows<S, T> extends never ? T : { readonly forgotten: MissingRows<S, T> };
  /** Rows that `authorize` reads; absent when it reads none. */
  readonly needs?: (needs: S['needs'], state: S['state'], authority: Authority) => S['needs'];
  /** The permission check of every command; absent when each command has its own. */
  readonly authorize?: (state: S['state'], request: Request<S>, env: S['env']) => Refusal | null;
  /** Run in this order; each also sees the facts that the ones before it added. */
  readonly consequences?: readonly Consequence<S>[];
}

/** Combines topics into the rules of one aggregate: `aggregate<GuildShape>()({ name, missing, topics })`. */
export const aggregate =
  <S extends Shape>() =>
  <const T extends readonly AnyTopic[], C extends Commands = CommandsIn<S, Together<T[number]['commands']>>>(
    given: Given<S, T>,
  ): Aggregate<S, C> => {
    type Fact = FactOf<S['facts']>;
    type Row = FactRow<S['state'], Fact, S['dispatch']>;
    const topics = given.topics as T;
    const commands = joined(topics.map((topic) => topic.commands)) as Aggregate<S, C>['commands'];
    const rows = joined(topics.map((topic) => topic.facts)) as Record<string, Row>;
    const rowOf = ({ type }: { readonly type: string }) => rows[type] as Row;
    const { name, missing, authorize, consequences = [] } = given;
    return {
      ...{ name, missing, commands, facts: rows as object as Aggregate<S, C>['facts'] },
      needs(state, type, input, authority) {
        const needs = commands[type].needs?.(input, state, authority.by) ?? {};
        return given.needs ? given.needs(needs, state, authority) : needs;
      },
      decide(state, type, input, authority, env) {
        const row = commands[type];
        const no = authorize?.(state, { row, input, authority }, env);
        if (no) return refused(no);
        const outcome = row.decide(state, input, authority.by, env);
        const given = factsOf(outcome);
        let facts = given;
        for (const { causes, add } of consequences)
          if (facts.some((fact) => causes.has(fact.type))) facts = add(state, facts, authority, env);
        return facts === given ? outcome : { ...outcome, facts };
      },
      happen(state, fact) {
        const row = rowOf(fact);
        const before = row.before?.(state, fact);
        row.apply(state, fact);
        return row.dispatches(state, fact, before as never);
      },
      apply: (state, fact) => rowOf(fact).apply(state, fact),
      isDurable: (fact) => rowOf(fact).durable !== false,
    };
  };

/** One table of all rows. A repeated name is a bug of the topics, found when the program starts. */
function joined(tables: readonly object[]): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [name, row] of tables.flatMap((table) => Object.entries(table))) {
    if (Object.hasOwn(all, name)) throw new RangeError(`Two topics have a row for ${name}.`);
    all[name] = row;
  }
  return all;
}
