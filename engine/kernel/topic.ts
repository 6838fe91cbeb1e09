import type { By } from './authority.ts';
import type { Env, Outcome } from './outcome.ts';

/** Types of an aggregate's commands: name to what it takes and what it answers. */
export type Commands = Record<string, { input: object; value: unknown }>;
/** Types of an aggregate's facts: name to payload. */
type Facts = Record<string, object>;

export type FactOf<F extends Facts> = { [K in keyof F & string]: { readonly type: K } & F[K] }[keyof F &
  string];

/** What the rules of one aggregate are about. */
export interface Shape {
  readonly state: object;
  /** All facts of the aggregate: a command of one topic may cause facts of another. */
  readonly facts: Facts;
  /** Rows that commands ask for. */
  readonly needs: object;
  readonly dispatch: object;
  readonly env: Env;
  /** Columns of a command's row beyond those that every aggregate has. */
  readonly row: object;
}

/** Everything about one command. */
export type CommandRow<S extends Shape, Input, Value> = S['row'] & {
  /** It may be sent to the owner again without a key: done twice, it leaves everything as done once. */
  readonly repeatable?: true;
  /** No client waits for it and many arrive at once: commands of clients are queued before it. */
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

/** Everything about one fact. */
export interface FactRow<State, Fact, Dispatch> {
  /** False: it is never stored, and waits for no commit. */
  readonly durable?: false;
  /** What `dispatches` needs of the state as it was; see `noting`. */
  readonly before?: (state: State, fact: Fact) => unknown;
  readonly apply: (state: State, fact: Fact) => void;
  /** What clients see of it. Called right after `apply`, so the state holds the fact already. */
  readonly dispatches: (state: State, fact: Fact, before: never) => readonly Dispatch[];
}

/** A row whose dispatches depend on what the fact changes: they are handed what `before` answered. */
export const noting = <State, Fact, Dispatch, Before>(row: {
  readonly durable?: false;
  readonly before: (state: State, fact: Fact) => Before;
  readonly apply: (state: State, fact: Fact) => void;
  readonly dispatches: (state: State, fact: Fact, before: Before) => readonly Dispatch[];
}): FactRow<State, Fact, Dispatch> => row;

/**
 * One subject of an aggregate (channels, roles, messages, …): its rules, complete. Both tables are total: a command or
 * a fact without its row does not compile.
 */
export interface Topic<S extends Shape, C extends Commands, K extends keyof S['facts'] & string> {
  readonly commands: { readonly [N in keyof C]: CommandRow<S, C[N]['input'], C[N]['value']> };
  readonly facts: {
    readonly [N in K]: FactRow<S['state'], { readonly type: N } & S['facts'][N], S['dispatch']>;
  };
}
