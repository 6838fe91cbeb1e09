import assert from 'node:assert/strict';
import type { LinkMethod, OwnerAsk, ReplyOf } from '../../../protocol/link.ts';
import { LINK } from '../../../protocol/link.ts';
import type { AskContext, Placement } from '../../placement/ports.ts';
import { HERE, type PassedArgs, type Routing } from '../../placement/routing.ts';

/** Catalogue methods that accept these arguments and have this result. */
type Matching<Kind extends LinkMethod, Args extends readonly unknown[], Answer> = {
  [M in Kind]: Required<Args> extends PassedArgs<M> ? (Answer extends ReplyOf<M> ? M : never) : never;
}[Kind];

/** A method that the owner of a key runs. A null key runs it on the shard that was called. */
interface OwnerRoute<Args extends readonly unknown[], Answer> {
  readonly method: Matching<OwnerAsk, Args, Answer>;
  readonly key: (...args: Args) => string | null | Promise<string | null>;
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

type Run = (...args: unknown[]) => unknown;
interface AnyOwnerRoute {
  readonly method: OwnerAsk;
  readonly key: (...args: unknown[]) => string | null | Promise<string | null>;
}
type AnyRoute = 'local' | AnyOwnerRoute | { readonly [name: string]: AnyRoute };

const isOwnerRoute = (route: object): route is AnyOwnerRoute =>
  'key' in route && typeof route.key === 'function';

/** Wraps a service so that its methods run on the owner of their key. A standalone process uses the service itself. */
export function routed<Part extends object>(part: Part, routes: Routes<Part>, cluster: Placement): Part {
  if (cluster.ownership.standalone) return part;
  return overTable(part as Record<string, unknown>, routes as Record<string, AnyRoute>, cluster) as Part;
}

function overTable(
  part: Readonly<Record<string, unknown>>,
  routes: Readonly<Record<string, AnyRoute>>,
  cluster: Placement,
): object {
  const made = {};
  for (const [key, route] of Object.entries(routes))
    Object.defineProperty(made, key, { enumerable: true, get: getterOf(part, key, route, cluster) });
  return made;
}

function getterOf(
  part: Readonly<Record<string, unknown>>,
  key: string,
  route: AnyRoute,
  cluster: Placement,
): () => unknown {
  const member = part[key];
  if (typeof member === 'function') {
    const run: Run = member.bind(part);
    const method =
      route !== 'local' && isOwnerRoute(route) ? asked(route.method, run, route.key, cluster) : run;
    return () => method;
  }
  // A member that is not a method may be a getter, so it is read on each access.
  if (route === 'local') return () => part[key];
  const inner = overTable(member as Record<string, unknown>, route as Record<string, AnyRoute>, cluster);
  return () => inner;
}

/** The router without the catalogue's types, which `Routing` and `Routes` have already checked. */
interface UntypedRouter {
  askOwner(
    method: string,
    key: string,
    args: readonly unknown[],
    here: (key: Key) => Promise<unknown>,
  ): unknown;
  tellOwner(method: string, key: string, args: readonly unknown[], here: () => void): void;
  tellAll(method: string, args: readonly unknown[]): void;
  serve(method: string, run: (args: readonly unknown[], context: AskContext) => unknown): void;
}
type Key = string | null;

const untyped = ({ router }: Placement): UntypedRouter => router as unknown as UntypedRouter;

/** Registers `run` as the owner's handler and returns a function that routes calls to the owner. */
function asked(
  method: OwnerAsk,
  run: Run,
  keyOf: (...args: unknown[]) => Key | Promise<Key>,
  cluster: Placement,
): Run {
  const router = untyped(cluster);
  const keyed = LINK[method].repeat === 'keyed';
  const here = async (args: readonly unknown[], commandKey: Key): Promise<unknown> =>
    run(...(keyed ? [...args, commandKey] : args));
  router.serve(method, (args, { commandKey }) => here(args, commandKey));
  return async (...args) => {
    const key = await keyOf(...args);
    if (key === null) return here(args, null);
    return router.askOwner(method, key, args, (commandKey) => here(args, commandKey));
  };
}

const firstArgument = (...[key]: unknown[]): string => {
  assert(typeof key === 'string', 'The first argument names the owner.');
  return key;
};

/** Routing over the owners of a cluster. */
export function routingOver(cluster: Placement): Routing {
  if (cluster.ownership.standalone) return HERE;
  const { ownership } = cluster;
  const router = untyped(cluster);
  /** Restores the type: `change` returns a function with the same type as `run`. */
  const like = <R extends (...args: never[]) => unknown>(run: R, change: (run: Run) => Run): R =>
    change(run as unknown as Run) as unknown as R;
  return {
    standalone: false,
    ask: (method, run) => like(run, (here) => asked(method, here, firstArgument, cluster)),
    tell: (method, run) =>
      like(run, (here) => {
        router.serve(method, (args) => void here(...args));
        return (...args) => router.tellOwner(method, firstArgument(...args), args, () => void here(...args));
      }),
    tellAll: (method, run) =>
      like(run, (here) => {
        router.serve(method, (args) => void here(...args));
        return (...args) => {
          here(...args);
          router.tellAll(method, args);
        };
      }),
    owns: (id) => ownership.owns(id),
    onMoved: (run) => {
      ownership.onChange(({ moved }) => {
        const partitions = new Set(moved);
        if (partitions.size > 0) run((id) => partitions.has(ownership.partitionOf(id)));
      });
    },
  };
}
