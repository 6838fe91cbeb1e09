import type { Authority, By } from './authority.ts';
import type { Env, Outcome } from './outcome.ts';

/** Types of an aggregate's commands: name to input and value. */
export type Commands = Record<string, { input: object; value: unknown }>;
/** Types of an aggregate's facts: name to payload. */
type Facts = Record<string, object>;

export type FactOf<F extends Facts> = { [K in keyof F & string]: { readonly type: K } & F[K] }[keyof F &
  string];

/** The types of one aggregate's rules. */
export interface Shape {
  readonly state: object;
  /** All facts of the aggregate: a command of one topic may cause facts of another. */
  readonly facts: Facts;
  /** Rows that commands may need. */
  readonly needs: object;
  readonly dispatch: object;
  readonly env: Env;
  /** Columns of a command's row beyond those that every aggregate has. */
  readonly row: object;
}

/** One command with all its properties. */
export type CommandRow<S extends Shape, Input, Value> = S['row'] & {
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

/** One fact with all its properties. */
export interface FactRow<State, Fact, Dispatch> {
  /** False for a fact that is never stored and waits for no commit. */
  readonly durable?: false;
  /** The state before the fact that `dispatches` needs; see `noting`. */
  readonly before?: (state: State, fact: Fact) => unknown;
  readonly apply: (state: State, fact: Fact) => void;
  /** The dispatches of the fact. Called right after `apply`, so the state contains the fact already. */
  readonly dispatches: (state: State, fact: Fact, before: never) => readonly Dispatch[];
}

/** A row whose dispatches depend on the state before the fact: they receive the value of `before`. */
export const noting = <State, Fact, Dispatch, Before>(row: {
  readonly durable?: false;
  readonly before: (state: State, fact: Fact) => Before;
  readonly apply: (state: State, fact: Fact) => void;
  readonly dispatches: (state: State, fact: Fact, before: Before) => readonly Dispatch[];
}): FactRow<State, Fact, Dispatch> => row;

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
