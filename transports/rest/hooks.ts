import { DISPATCH, type DispatchName } from '../../protocol/dispatches.ts';
import type { GuildId } from '../../protocol/ids.ts';
import type { DispatchPayloads } from '../wire/payloads.ts';
import type { AnyAfterHook, AnyBeforeHook, Hooks } from './pipeline.ts';
import { operations, unlisted } from './resources/index.ts';
import type { AfterHook, BeforeHook, OperationId } from './typed.ts';

const OPERATION_IDS: ReadonlySet<string> = new Set(Object.keys({ ...operations, ...unlisted }));
const DISPATCH_NAMES: ReadonlySet<string> = new Set(Object.keys(DISPATCH));

/** Returns the known name closest to a misspelt one; null when none is close. */
export type Nearest = (name: string, names: Iterable<string>) => string | null;

/** Refuses misspelt names: JavaScript programs have no compiler to find them, and such a hook would never run. */
export function known(kind: string, name: string, names: ReadonlySet<string>, nearest: Nearest): string {
  if (names.has(name)) return name;
  const near = nearest(name, names);
  const hint = near === null ? '' : ` Did you mean "${near}"?`;
  throw new RangeError(`Unknown ${kind}: "${name}".${hint}`);
}

/** The listener of a dispatch, whatever its payload: as a method, its parameter may be narrower. */
type Listener = { call(d: unknown, where: { guildId: GuildId | null }): void }['call'];

type ListenerOf<Name extends DispatchName> = (
  d: DispatchPayloads[Name],
  where: { guildId: GuildId | null },
) => void;

/** Adds an item to the list of a name; the returned function removes it again. */
function add<T>(lists: Map<string, readonly T[]>, name: string, item: T): () => void {
  lists.set(name, [...(lists.get(name) ?? []), item]);
  return () => {
    const rest = lists.get(name)?.filter((other) => other !== item) ?? [];
    if (rest.length > 0) lists.set(name, rest);
    else lists.delete(name);
  };
}

interface HookPorts {
  readonly guildOf: (ownerId: string) => GuildId | null;
  readonly nearest: Nearest;
  readonly onBug: (error: unknown) => void;
}

/** Keeps the hooks and listeners of the embedding program. */
export function createHooks({ guildOf, nearest, onBug }: HookPorts) {
  const before = new Map<string, readonly AnyBeforeHook[]>();
  const after = new Map<string, readonly AnyAfterHook[]>();
  const listeners = new Map<string, readonly Listener[]>();
  const tap = {
    listening: false,
    see(t: string, d: object, ownerId: string): void {
      for (const listener of listeners.get(t) ?? []) {
        try {
          listener(d, { guildId: guildOf(ownerId) });
        } catch (error) {
          // An exception of a listener is the embedding program's bug and must not stop the guild's actor.
          onBug(error);
        }
      }
    },
  };
  const hooks: Hooks = { before, after };

  function addBefore<Id extends OperationId>(id: Id, hook: BeforeHook<Id>): () => void {
    return add(before, known('operation', id, OPERATION_IDS, nearest), hook as AnyBeforeHook);
  }

  function addAfter<Id extends OperationId>(id: Id, hook: AfterHook<Id>): () => void {
    return add(after, known('operation', id, OPERATION_IDS, nearest), hook as AnyAfterHook);
  }

  function on<Name extends DispatchName>(event: Name, listener: ListenerOf<Name>): () => void;
  function on(event: string, listener: Listener): () => void {
    const remove = add(listeners, known('dispatch', event, DISPATCH_NAMES, nearest), listener);
    tap.listening = true;
    return () => {
      remove();
      tap.listening = listeners.size > 0;
    };
  }

  return { tap, hooks, before: addBefore, after: addAfter, on };
}
