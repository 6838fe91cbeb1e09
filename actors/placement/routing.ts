import type { Commands, Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { BrandedId } from '../../protocol/ids.ts';
import type { ArgsOf, Broadcast, CommandMethod, OwnerAsk, OwnerTell, ReplyOf } from '../../protocol/link.ts';
import type { CommandIdField } from '../../protocol/link.values.ts';

/** The key whose owner runs a call; null runs it on the shard that was called. */
export type Key = string | null;

/** A call of a method. Handlers must accept whatever the catalogue lets pass, and callers must pass nothing else. */
export type RoutedCall<M extends OwnerAsk | OwnerTell | Broadcast, Result> = (...args: ArgsOf<M>) => Result;

/** Sends a command to the owner of its aggregate; resolves when its facts are durable, rejects on a fault. */
export type SendCommand<Id, C extends Commands> = <K extends keyof C>(
  id: Id,
  type: K,
  input: C[K]['input'],
  authority: Authority,
) => Promise<Reply<C[K]['value']>>;

/** Runs a command on this shard, once under its command key. */
export type RunCommand<Id, C extends Commands> = <K extends keyof C>(
  id: Id,
  type: K,
  input: C[K]['input'],
  authority: Authority,
  commandKey?: Key,
) => Promise<Reply<C[K]['value']>>;

type PlainAsk = Exclude<OwnerAsk, CommandMethod>;

/**
 * Catalogue methods that carry exactly these arguments and may have this result. The function must accept whatever the
 * catalogue lets pass, and its callers may pass nothing else.
 */
type Matching<Args extends readonly unknown[], Answer> = {
  [M in PlainAsk]: Required<Args> extends ArgsOf<M>
    ? readonly [...ArgsOf<M>] extends Readonly<Args>
      ? Answer extends ReplyOf<M>
        ? M
        : never
      : never
    : never;
}[PlainAsk];

/** A method that the owner of a key runs. A null key runs it on the shard that was called. */
interface OwnerRoute<Args extends readonly unknown[], Answer> {
  readonly method: Matching<Args, Answer>;
  readonly key: (...args: Args) => Key | Promise<Key>;
}

/** `local`: runs on the shard that was called, as it only reads stores, or only the owner calls it. */
type RouteOf<Member> = Member extends (...args: infer Args) => infer Answer
  ? Answer extends Promise<infer Value>
    ? 'local' | OwnerRoute<Args, Value>
    : 'local'
  : Member extends object
    ? 'local' | Routes<Member>
    : 'local';

/** One route for each method of a service: a missing route is a compile error. */
export type Routes<Part> = { readonly [Name in keyof Part]-?: RouteOf<Part[Name]> };

/** The rules of an aggregate as far as its commands are routed by them. */
export interface CommandRules<C extends Commands> {
  readonly name: string;
  readonly commands: { readonly [N in keyof C]: { readonly repeatable?: true } };
}

type IdField<Input> = Input extends unknown
  ? {
      [K in keyof Input & `${string}Id`]-?: NonNullable<Input[K]> extends BrandedId ? K : never;
    }[keyof Input & `${string}Id`]
  : never;
/** Ids in the inputs of commands that the link does not check. */
type UncheckedIds<C extends Commands> = Exclude<
  { [N in keyof C]: IdField<C[N]['input']> }[keyof C],
  CommandIdField
>;
/** Rules whose ids the link checks. Others do not compile; the error names the fields that `COMMAND_IDS` lacks. */
type CheckedRules<C extends Commands> = CommandRules<C> &
  ([UncheckedIds<C>] extends [never] ? unknown : { readonly missingInCommandIds: UncheckedIds<C> });

/**
 * Routes calls to the owner of their key, so that mutexes, caches and counters in the memory of one shard hold for the
 * whole cluster. Arguments and replies are plain values; `protocol/link.ts` lists the methods.
 */
export interface Routing {
  /** A single process owns everything. */
  readonly standalone: boolean;
  /**
   * Wraps `run` so that the owner of the key runs it. By default the key is the first argument.
   *
   * `V` is the type of the handler's own result: the catalogue's schema may check only a part of it.
   */
  readonly ask: <M extends Exclude<OwnerAsk, CommandMethod>, V extends ReplyOf<M>>(
    method: M,
    run: RoutedCall<M, Promise<V>>,
    key?: RoutedCall<M, Key | Promise<Key>>,
  ) => RoutedCall<M, Promise<V>>;
  /**
   * Wraps the commands of an aggregate so that the aggregate's owner runs each of them once, under a key of the call.
   * The owner accepts only names of its own commands, and ids that `isId` accepts.
   */
  readonly command: <Id extends string, C extends Commands>(
    method: CommandMethod,
    rules: CheckedRules<C>,
    isId: (id: string) => id is Id,
    run: RunCommand<Id, C>,
  ) => SendCommand<Id, C>;
  /**
   * Wraps `run` so that the owner of the key runs it, without a reply; in order between one caller and one owner. By
   * default the key is the first argument.
   */
  readonly tell: <M extends OwnerTell>(
    method: M,
    run: RoutedCall<M, void>,
    key?: RoutedCall<M, string>,
  ) => RoutedCall<M, void>;
  /** Wraps a service so that its methods run on the owner of their key. A standalone process uses the service itself. */
  readonly service: <Part extends object>(part: Part, routes: Routes<Part>) => Part;
  /** Wraps `run` so that it runs here at once and, asynchronously, on all other shards. */
  readonly tellAll: <M extends Broadcast>(method: M, run: RoutedCall<M, void>) => RoutedCall<M, void>;
  /** How long a call or message of another shard may be under way, milliseconds; 0 when there are no others. */
  readonly inFlightMs: number;
  /** Whether this shard owns the id. */
  owns(id: string): boolean;
  /** Calls `run` after a change of ownership; its argument returns whether an id's partition moved. */
  onMoved(run: (moved: (id: string) => boolean) => void): void;
}

/** Routing of a single process that owns everything. */
export const HERE: Routing = {
  standalone: true,
  inFlightMs: 0,
  service: (part) => part,
  ask: (_method, run) => run,
  command: (_method, _rules, _isId, run) => run,
  tell: (_method, run) => run,
  tellAll: (_method, run) => run,
  owns: () => true,
  onMoved: () => undefined,
};
