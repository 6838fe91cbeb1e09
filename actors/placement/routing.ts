import type {
  ArgsOf,
  Broadcast,
  LinkMethod,
  OwnerAsk,
  OwnerTell,
  ReplyOf,
  Rows,
} from '../../protocol/link.ts';

type Run = (key: never, ...rest: never[]) => unknown;

/** What a method of the catalogue passes to the function behind it: its arguments, and the command key of a keyed one. */
export type PassedArgs<M extends LinkMethod> = Rows[M]['repeat'] extends 'keyed'
  ? readonly [...ArgsOf<M>, string | null]
  : ArgsOf<M>;

/** `unknown` when the function takes and answers what the catalogue says of the method; else an error to read. */
type Fits<M extends LinkMethod, R extends Run> =
  Required<Parameters<R>> extends PassedArgs<M>
    ? Awaited<ReturnType<R>> extends ReplyOf<M>
      ? unknown
      : { readonly 'the reply is not the one of the catalogue': ReplyOf<M> }
    : { readonly 'the arguments are not those of the catalogue': PassedArgs<M> };

/**
 * How a part of the engine reaches the owner of something: mutexes, caches and counts that are kept in memory hold over
 * the whole cluster when one shard keeps them. Arguments and answers are plain values; `protocol/link.ts` lists the methods.
 */
export interface Routing {
  /** One process: it owns everything. */
  readonly standalone: boolean;
  /** The same function, run by the owner of the first argument. */
  ask<M extends OwnerAsk, R extends (key: never, ...rest: never[]) => Promise<unknown>>(
    method: M & Fits<M, R>,
    run: R,
  ): R;
  /** The same without an answer; in order between one caller and one owner. */
  tell<M extends OwnerTell, R extends (key: never, ...rest: never[]) => void>(
    method: M & Fits<M, R>,
    run: R,
  ): R;
  /** Runs here and, a moment later, on all other shards. */
  tellAll<M extends Broadcast, R extends (...args: never[]) => void>(method: M & Fits<M, R>, run: R): R;
  /** Whether this shard decides for the id. */
  owns(id: string): boolean;
  /** Calls `run` when ids have changed hands, with which. */
  onMoved(run: (moved: (id: string) => boolean) => void): void;
}

/** One process owns everything. */
export const HERE: Routing = {
  standalone: true,
  ask: (_method, run) => run,
  tell: (_method, run) => run,
  tellAll: (_method, run) => run,
  owns: () => true,
  onMoved: () => undefined,
};
