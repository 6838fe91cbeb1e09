import type { FreshId, UserId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Authority, By } from './authority.ts';

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
 * what a blocked message leads to. The caller receives the refusal when they are durable.
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

/** Types of an aggregate's commands: name to input and value. */
export type Commands = Record<string, { input: object; value: unknown }>;
/** Types of an aggregate's facts: name to payload. */
type Facts = Record<string, object>;

export type FactOf<F extends Facts> = { [K in keyof F & string]: { readonly type: K } & F[K] }[keyof F &
  string];

/** The types of one aggregate's rules. */
interface Shape {
  readonly state: object;
  /** All facts of the aggregate: a command of one topic may cause facts of another. */
  readonly facts: Facts;
  /** Rows that commands may need. */
  readonly needs: object;
  readonly dispatch: object;
  /** The time and the other inputs that a rule may use: `Env`, or a type of the aggregate's own. */
  readonly env: object;
  /** Columns of a command's row beyond those that every aggregate has. */
  readonly row: object;
}

/** One command with all its properties. */
type CommandRow<S extends Shape, Input, Value> = S['row'] & {
  /** The command may be sent to the owner again without a key: repeating it changes nothing more. */
  readonly repeatable?: true;
  /** No client waits for it and many arrive at once: clients' commands have priority in the queue. */
  readonly background?: true;
  /** Rows to load before `decide`; absent when it needs none. */
  readonly needs?: (input: Input, state: S['state'], by: By) => S['needs'];
  readonly decide: (
    state: S['state'],
    input: Input,
    by: By,
    env: S['env'],
  ) => Outcome<Value, FactOf<S['facts']>>;
};

interface AnyFactRow<State, Fact> {
  /**
   * False for a fact that is never stored and waits for no commit; `record` for one that has no rows, whose command and
   * dispatches are recorded for the next owner.
   */
  readonly durable?: false | 'record';
  /** The aggregate exists no more after this fact: nothing is decided on top of it. */
  readonly ends?: true;
  /** Users in voice whose voice members it may change; absent: none. */
  readonly voiceMembers?: 'everyone' | ((fact: Fact) => UserId);
  readonly apply: (state: State, fact: Fact) => void;
}

interface PlainFactRow<State, Fact, Dispatch> extends AnyFactRow<State, Fact> {
  /** The dispatches of the fact. Called right after `apply`, so the state contains the fact already. */
  readonly dispatches: (state: State, fact: Fact) => readonly Dispatch[];
}

interface BeforeFactRow<State, Fact, Dispatch> extends AnyFactRow<State, Fact> {
  /** Applies the fact and returns its dispatches. */
  readonly applyAndDispatch: (state: State, fact: Fact) => readonly Dispatch[];
}

/** One fact with all its properties. */
export type FactRow<State, Fact, Dispatch> =
  | PlainFactRow<State, Fact, Dispatch>
  | BeforeFactRow<State, Fact, Dispatch>;

/** A row whose dispatches depend on the state before the fact: they receive the value of `before`. */
export const withBefore = <State, Fact, Dispatch, Before>({
  before: noted,
  dispatches,
  ...row
}: {
  readonly before: (state: State, fact: Fact) => Before;
  readonly dispatches: (state: State, fact: Fact, before: Before) => readonly Dispatch[];
} & AnyFactRow<State, Fact>): FactRow<State, Fact, Dispatch> => ({
  ...row,
  applyAndDispatch(state, fact) {
    const before = noted(state, fact);
    row.apply(state, fact);
    return dispatches(state, fact, before);
  },
});

/** Adds the facts that follow from other facts, independent of the command. */
export interface Consequence<S extends Shape> {
  /** Types of the facts from which something may follow; commands without one of these skip it. */
  readonly causes: ReadonlySet<keyof S['facts'] & string>;
  /** @returns The same list when nothing follows. */
  readonly add: (
    state: S['state'],
    facts: readonly FactOf<S['facts']>[],
    authority: Authority,
    env: S['env'],
  ) => readonly FactOf<S['facts']>[];
}

/**
 * One topic of an aggregate (channels, roles, messages, …) with all its rules. Both tables are total: a command or a
 * fact without a row does not compile.
 */
export interface Topic<S extends Shape, C extends Commands, K extends keyof S['facts'] & string> {
  readonly commands: { readonly [N in keyof C]: CommandRow<S, C[N]['input'], C[N]['value']> };
  readonly facts: {
    readonly [N in K]: FactRow<S['state'], { readonly type: N } & S['facts'][N], S['dispatch']>;
  };
}

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
  applyAndDispatch(state: S['state'], fact: FactOf<S['facts']>): readonly S['dispatch'][];
  /** Applies a fact whose dispatches were already sent. */
  apply(state: S['state'], fact: FactOf<S['facts']>): void;
  isDurable(fact: FactOf<S['facts']>): boolean;
  /** The user, or everyone, in voice whose voice member the fact may change; null for nobody. */
  voiceMembers(fact: FactOf<S['facts']>): 'everyone' | UserId | null;
  /** Whether the aggregate exists no more after the fact. */
  ends(fact: FactOf<S['facts']>): boolean;
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
      applyAndDispatch(state, fact) {
        const row = rowOf(fact);
        if ('applyAndDispatch' in row) return row.applyAndDispatch(state, fact);
        row.apply(state, fact);
        return row.dispatches(state, fact);
      },
      apply: (state, fact) => rowOf(fact).apply(state, fact),
      isDurable: (fact) => rowOf(fact).durable !== false,
      voiceMembers(fact) {
        const { voiceMembers = null } = rowOf(fact);
        return typeof voiceMembers === 'function' ? voiceMembers(fact) : voiceMembers;
      },
      ends: (fact) => rowOf(fact).ends === true,
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
