import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
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
type Listener = { hear(d: unknown, where: { guildId: GuildId | null }): void }['hear'];

type ListenerOf<Name extends DispatchName> = (
  d: DispatchPayloads[Name],
  where: { guildId: GuildId | null },
) => void;

/** Lists by name; `add` returns a function that removes the item again. */
class Lists<T> {
  readonly #lists = new Map<string, readonly T[]>();

  get(name: string): readonly T[] {
    return this.#lists.get(name) ?? [];
  }

  get size(): number {
    return this.#lists.size;
  }

  add(name: string, item: T): () => void {
    this.#lists.set(name, [...this.get(name), item]);
    return () => {
      const rest = this.get(name).filter((other) => other !== item);
      if (rest.length > 0) this.#lists.set(name, rest);
      else this.#lists.delete(name);
    };
  }
}

interface HookPorts {
  readonly guildOf: (ownerId: string) => GuildId | null;
  readonly nearest: Nearest;
  readonly onBug: (error: unknown) => void;
}

/** Keeps the hooks and listeners of the embedding program. */
export function createHooks({ guildOf, nearest, onBug }: HookPorts) {
  const before = new Lists<AnyBeforeHook>();
  const after = new Lists<AnyAfterHook>();
  const listeners = new Lists<Listener>();
  const tap: Tap = {
    get listening() {
      return listeners.size > 0;
    },
    see(t, d, ownerId) {
      for (const listener of listeners.get(t)) {
        try {
          listener(d, { guildId: guildOf(ownerId) });
        } catch (error) {
          // An exception of a listener is the embedding program's bug and must not stop the guild's actor.
          onBug(error);
        }
      }
    },
  };
  const hooks: Hooks = { before: (id) => before.get(id), after: (id) => after.get(id) };

  function addBefore<Id extends OperationId>(id: Id, hook: BeforeHook<Id>): () => void {
    return before.add(known('operation', id, OPERATION_IDS, nearest), hook as AnyBeforeHook);
  }

  function addAfter<Id extends OperationId>(id: Id, hook: AfterHook<Id>): () => void {
    return after.add(known('operation', id, OPERATION_IDS, nearest), hook as AnyAfterHook);
  }

  function on<Name extends DispatchName>(event: Name, listener: ListenerOf<Name>): () => void;
  function on(event: string, listener: Listener): () => void {
    return listeners.add(known('dispatch', event, DISPATCH_NAMES, nearest), listener);
  }

  return { tap, hooks, before: addBefore, after: addAfter, on };
}
