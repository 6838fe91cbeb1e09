/** Operations whose first argument names whose they are. */
type Asks = Readonly<Record<string, (key: never, ...rest: never[]) => Promise<unknown>>>;
type Tells = Readonly<Record<string, (key: never, ...rest: never[]) => void>>;

/**
 * How a part of the house reaches the owner of something: turns, caches and counts that are kept in memory hold over
 * the whole cluster when they are kept by one. Names are unique in the house. Arguments and answers are plain values.
 */
export interface Routing {
  /** One process: what others might have done, nobody else has. */
  readonly alone: boolean;
  /**
   * The same operations, run by who owns the first argument. `again`: doing one twice does nothing more. `keyed`: the
   * aggregate remembers the command's key, which an operation gets as one more argument.
   */
  asks<Ops extends Asks>(
    name: string,
    ops: Ops,
    how?: { readonly again?: boolean; readonly keyed?: boolean },
  ): Ops;
  /** The same without an answer; in order for one shard that tells and one that is told. */
  tells<Ops extends Tells>(name: string, ops: Ops): Ops;
  /** Runs here and, a moment later, on all other shards. */
  everywhere<Args extends readonly unknown[]>(
    name: string,
    run: (...args: Args) => void,
  ): (...args: Args) => void;
  /** Whether this shard decides for the id. */
  owns(id: string): boolean;
  /** Calls `run` when ids have changed hands, with which. */
  onMoved(run: (moved: (id: string) => boolean) => void): void;
}

/** One process owns everything. */
export const HERE: Routing = {
  alone: true,
  asks: (_name, ops) => ops,
  tells: (_name, ops) => ops,
  everywhere: (_name, run) => run,
  owns: () => true,
  onMoved: () => undefined,
};
