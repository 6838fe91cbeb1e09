import type { AskContext, Placement } from '../../placement/ports.ts';
import { HERE, type Routing } from '../../placement/routing.ts';

/** Who decides: a user, a lobby, an application … Null: whoever is called. */
type KeyOf<Args extends readonly unknown[]> = (...args: Args) => string | null | Promise<string | null>;

/** A method that its key's owner runs. */
interface Owned<Args extends readonly unknown[]> {
  readonly by: KeyOf<Args>;
  /** Doing it twice does nothing more, or it only asks: it is sent again when its fate is not known. */
  readonly again?: boolean | undefined;
  /** The same, as the aggregate remembers the command's key, which it gets as one more argument. */
  readonly keyed?: boolean | undefined;
}

/** A method without an answer, told to its key's owner. */
interface Told<Args extends readonly unknown[]> {
  readonly to: (...args: Args) => string;
}

/** `local`: decided wherever it is called, because it only reads stores, or is called by the owner alone. */
type RouteOf<Member> = Member extends (...args: infer Args) => infer Answer
  ? Answer extends Promise<unknown>
    ? 'local' | Owned<Args>
    : 'local' | Told<Args>
  : Member extends object
    ? 'local' | Routes<Member>
    : 'local';

/** A route for each method of a part: one without does not compile. */
export type Routes<Part> = { readonly [Name in keyof Part]-?: RouteOf<Part[Name]> };

type Method = (...args: unknown[]) => unknown;
type AnyRoute = 'local' | Owned<unknown[]> | Told<unknown[]> | { readonly [name: string]: AnyRoute };

const isOwned = (route: object): route is Owned<unknown[]> => 'by' in route && typeof route.by === 'function';
const isTold = (route: object): route is Told<unknown[]> => 'to' in route && typeof route.to === 'function';

/**
 * A part of the house whose methods run where what they concern is owned. The receiving side is made of the same table.
 * Alone it is the part itself.
 *
 * @param name Unique in the house: methods are known by it between shards.
 */
export function routed<Part extends object>(
  name: string,
  part: Part,
  routes: Routes<Part>,
  cluster: Placement,
): Part {
  if (cluster.ownership.alone) return part;
  return overTable(
    name,
    part as Record<string, unknown>,
    routes as Record<string, AnyRoute>,
    cluster,
  ) as Part;
}

function overTable(
  name: string,
  part: Readonly<Record<string, unknown>>,
  routes: Readonly<Record<string, AnyRoute>>,
  cluster: Placement,
): object {
  const made = {};
  for (const [key, route] of Object.entries(routes)) {
    const member = part[key];
    const get = getterOf(`${name}.${key}`, { part, key, member, route }, cluster);
    Object.defineProperty(made, key, { enumerable: true, get });
  }
  return made;
}

interface Entry {
  readonly part: Readonly<Record<string, unknown>>;
  readonly key: string;
  readonly member: unknown;
  readonly route: AnyRoute;
}

function getterOf(name: string, { part, key, member, route }: Entry, cluster: Placement): () => unknown {
  // What is no method is asked for anew each time: it may be a getter.
  if (typeof member !== 'function') {
    if (route === 'local') return () => part[key];
    const inner = overTable(
      name,
      member as Record<string, unknown>,
      route as Record<string, AnyRoute>,
      cluster,
    );
    return () => inner;
  }
  const own: Method = member.bind(part);
  const method =
    route === 'local'
      ? own
      : isOwned(route)
        ? ownedMethod(name, own, route, cluster)
        : isTold(route)
          ? toldMethod(name, own, route.to, cluster)
          : own;
  return () => method;
}

function ownedMethod(
  name: string,
  run: Method,
  { by, again, keyed }: Owned<unknown[]>,
  { router }: Placement,
): Method {
  const options = keyed ? { once: true } : again ? { repeatable: true } : {};
  const keyedArgs = (args: readonly unknown[], commandKey: string | null) =>
    keyed ? [...args, commandKey] : args;
  const here = (args: readonly unknown[], commandKey: string | null): Promise<unknown> =>
    Promise.resolve(run(...keyedArgs(args, commandKey)));
  router.handle(name, (args: readonly unknown[], { commandKey }: AskContext) => here(args, commandKey));
  return async (...args) => {
    const key = await by(...args);
    if (key === null) return here(args, null);
    return router.at(key, name, args, (commandKey) => here(args, commandKey), options);
  };
}

function toldMethod(name: string, run: Method, to: Told<unknown[]>['to'], { router }: Placement): Method {
  router.handle(name, (args: readonly unknown[]) => void run(...args));
  return (...args) => router.tell(to(...args), name, args, () => void run(...args));
}

/** The ways of a part to the owners of what it keeps. */
export function routingOver(cluster: Placement): Routing {
  if (cluster.ownership.alone) return HERE;
  const { ownership, router } = cluster;
  const first = (key: unknown): string => key as string;
  const each = <Ops extends object>(
    name: string,
    ops: Ops,
    make: (name: string, run: Method) => Method,
  ): Ops =>
    Object.fromEntries(
      Object.entries(ops).map(([key, run]) => [key, make(`${name}.${key}`, run as Method)]),
    ) as Ops;
  return {
    alone: false,
    asks: (name, ops, { again, keyed } = {}) =>
      each(name, ops, (full, run) => ownedMethod(full, run, { by: first, again, keyed }, cluster)),
    tells: (name, ops) => each(name, ops, (full, run) => toldMethod(full, run, first, cluster)),
    everywhere: (name, run) => {
      router.handle(name, (args: readonly unknown[]) => void run(...(args as never)));
      return (...args) => {
        run(...args);
        router.everywhere(name, args);
      };
    },
    owns: (id) => ownership.owns(id),
    onMoved: (run) => {
      ownership.onChange(({ moved }) => {
        const partitions = new Set(moved);
        if (partitions.size > 0) run((id) => partitions.has(ownership.partitionOf(id)));
      });
    },
  };
}
