import assert from 'node:assert/strict';
import type { Commands } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import type { ArgsOf, CommandMethod, OwnerAsk } from '../../../protocol/link.ts';
import type { OwnerRouter, Ownership } from '../../placement/ports.ts';
import type { CommandRules, Key, Routing, RunCommand, SendCommand } from '../../placement/routing.ts';

type PlainAsk = Exclude<OwnerAsk, CommandMethod>;

interface AnyOwnerRoute {
  readonly method: PlainAsk;
  readonly key: (...args: readonly unknown[]) => Key | Promise<Key>;
}
type AnyRoute = 'local' | AnyOwnerRoute | { readonly [name: string]: AnyRoute };

const isOwnerRoute = (route: object): route is AnyOwnerRoute =>
  'key' in route && typeof route.key === 'function';

function overTable(
  part: Readonly<Record<string, unknown>>,
  routes: Readonly<Record<string, AnyRoute>>,
  routing: Routing,
): object {
  const made = {};
  for (const [key, route] of Object.entries(routes))
    Object.defineProperty(made, key, { enumerable: true, get: getterOf(part, key, route, routing) });
  return made;
}

function getterOf(
  part: Readonly<Record<string, unknown>>,
  key: string,
  route: AnyRoute,
  routing: Routing,
): () => unknown {
  const member = part[key];
  if (typeof member === 'function') {
    // `Routes` has compared the types of this method with those of the catalogue.
    const run = async (...args: readonly unknown[]) => member.apply(part, args);
    const method =
      route !== 'local' && isOwnerRoute(route)
        ? routing.ask(route.method, run, route.key)
        : member.bind(part);
    return () => method;
  }
  // A member that is not a method may be a getter, so it is read on each access.
  if (route === 'local') return () => part[key];
  const inner = overTable(member as Record<string, unknown>, route as Record<string, AnyRoute>, routing);
  return () => inner;
}

type SentCommand = ArgsOf<CommandMethod>;
type CommandOf<Id extends string, C extends Commands> = readonly [
  id: Id,
  type: keyof C & string,
  input: C[keyof C & string]['input'],
  authority: Authority,
];

/**
 * Whether another shard sent a command that the aggregate has. The catalogue has checked the ids of the input; its other
 * fields have the types of the command's row, because the sender was compiled against the same rules.
 */
const isCommandOf = <Id extends string, C extends Commands>(
  sent: SentCommand,
  { commands }: CommandRules<C>,
  isId: (id: string) => id is Id,
): sent is CommandOf<Id, C> => isId(sent[0]) && Object.hasOwn(commands, sent[1]);

function commandsOver<Id extends string, C extends Commands>(
  router: OwnerRouter,
  method: CommandMethod,
  rules: CommandRules<C>,
  isId: (id: string) => id is Id,
  run: RunCommand<Id, C>,
): SendCommand<Id, C> {
  router.serve(method, async (sent, { commandKey }) => {
    if (!isCommandOf(sent, rules, isId))
      throw new LinkFault('failed', `Unknown command of ${rules.name}: ${sent[1].slice(0, 64)}.`);
    const [id, type, input, authority] = sent;
    return run(id, type, input, authority, commandKey);
  });
  return (id, type, input, authority) =>
    router.askOwner(
      method,
      id,
      [id, String(type), input, authority],
      (commandKey) => run(id, type, input, authority, commandKey),
      { repeatable: rules.commands[type].repeatable },
    );
}

const firstArgument = (...[key]: readonly unknown[]): string => {
  assert(typeof key === 'string', 'The first argument names the owner.');
  return key;
};

/** Longer than a call or a message to another shard takes until its deadline. */
const IN_FLIGHT_MS = 15_000;

/** Routing over the owners of a cluster: registers each function as its owner's handler, and routes calls to the owner. */
export function routingOver({
  ownership,
  router,
}: {
  readonly ownership: Ownership;
  readonly router: OwnerRouter;
}): Routing {
  const routing: Routing = {
    standalone: false,
    inFlightMs: IN_FLIGHT_MS,
    service: (part, routes) =>
      overTable(part as Record<string, unknown>, routes as Record<string, AnyRoute>, routing) as typeof part,
    ask(method, run, keyOf = firstArgument) {
      router.serve(method, (args) => run(...args));
      return async (...args) => {
        const key = await keyOf(...args);
        return key === null ? run(...args) : router.askOwner(method, key, args, () => run(...args));
      };
    },
    command: (method, rules, isId, run) => commandsOver(router, method, rules, isId, run),
    tell(method, run, keyOf = firstArgument) {
      router.receive(method, (args) => run(...args));
      return (...args) => router.tellOwner(method, keyOf(...args), args, () => run(...args));
    },
    tellAll(method, run) {
      router.receive(method, (args) => run(...args));
      return (...args) => {
        run(...args);
        router.tellAll(method, args);
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
  return routing;
}
