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

/** The parameters of the function behind a catalogue method: its arguments, and the command key of a keyed method. */
export type PassedArgs<M extends LinkMethod> = Rows[M]['repeat'] extends 'keyed'
  ? readonly [...ArgsOf<M>, string | null]
  : ArgsOf<M>;

/** `unknown` when the function's parameters and result match the catalogue; otherwise a readable compile error. */
type Fits<M extends LinkMethod, R extends Run> =
  Required<Parameters<R>> extends PassedArgs<M>
    ? Awaited<ReturnType<R>> extends ReplyOf<M>
      ? unknown
      : { readonly 'the reply is not the one of the catalogue': ReplyOf<M> }
    : { readonly 'the arguments are not those of the catalogue': PassedArgs<M> };

/**
 * Routes calls to the owner of their key, so that mutexes, caches and counters in the memory of one shard hold for the
 * whole cluster. Arguments and replies are plain values; `protocol/link.ts` lists the methods.
 */
export interface Routing {
  /** A single process owns everything. */
  readonly standalone: boolean;
  /** Wraps `run` so that the owner of the first argument runs it. */
  ask<M extends OwnerAsk, R extends (key: never, ...rest: never[]) => Promise<unknown>>(
    method: M & Fits<M, R>,
    run: R,
  ): R;
  /**
   * Wraps `run` so that the owner of the first argument runs it, without a reply; in order between one caller and one
   * owner.
   */
  tell<M extends OwnerTell, R extends (key: never, ...rest: never[]) => void>(
    method: M & Fits<M, R>,
    run: R,
  ): R;
  /** Wraps `run` so that it runs here at once and, asynchronously, on all other shards. */
  tellAll<M extends Broadcast, R extends (...args: never[]) => void>(method: M & Fits<M, R>, run: R): R;
  /** Whether this shard owns the id. */
  owns(id: string): boolean;
  /** Calls `run` after a change of ownership; its argument tells whether an id's partition moved. */
  onMoved(run: (moved: (id: string) => boolean) => void): void;
}

/** Routing of a single process that owns everything. */
export const HERE: Routing = {
  standalone: true,
  ask: (_method, run) => run,
  tell: (_method, run) => run,
  tellAll: (_method, run) => run,
  owns: () => true,
  onMoved: () => undefined,
};
