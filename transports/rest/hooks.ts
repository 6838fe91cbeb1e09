import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import type { AfterHook, BeforeHook, Engine, OperationId } from '../../embedding.ts';
import { DISPATCH, type DispatchName } from '../../protocol/dispatches.ts';
import type { Hooks } from './pipeline.ts';
import { operations, unlisted } from './resources/index.ts';

const OPERATION_IDS: ReadonlySet<string> = new Set(Object.keys({ ...operations, ...unlisted }));
const DISPATCH_NAMES: ReadonlySet<string> = new Set(Object.keys(DISPATCH));

/** The name that a misspelt one is closest to; null when none is close. */
type Nearest = (name: string, names: Iterable<string>) => string | null;

/** Programs in JavaScript have no compiler to find a misspelt name, and a hook that never runs is found late. */
function known(kind: string, name: string, names: ReadonlySet<string>, nearest: Nearest): string {
  if (names.has(name)) return name;
  const near = nearest(name, names);
  const hint = near === null ? '' : ` Did you mean "${near}"?`;
  throw new RangeError(`There is no ${kind} "${name}".${hint}`);
}

type Listener = Parameters<Engine['on']>[1];

/** Lists by name; adding answers the way to take it out again. */
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
  readonly guildOf: (ownerId: string) => string | null;
  readonly nearest: Nearest;
  readonly onBug: (error: unknown) => void;
}

/** What the embedding program has asked to hear and to decide. */
export function createHooks({ guildOf, nearest, onBug }: HookPorts) {
  const before = new Lists<BeforeHook>();
  const after = new Lists<AfterHook>();
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
          // What a listener throws is its program's fault, and must not end the guild's actor.
          onBug(error);
        }
      }
    },
  };
  const hooks: Hooks = { before: (id) => before.get(id), after: (id) => after.get(id) };
  return {
    tap,
    hooks,
    before: (id: OperationId, hook: BeforeHook) =>
      before.add(known('operation', id, OPERATION_IDS, nearest), hook),
    after: (id: OperationId, hook: AfterHook) =>
      after.add(known('operation', id, OPERATION_IDS, nearest), hook),
    on: (event: DispatchName, listener: Listener) =>
      listeners.add(known('dispatch', event, DISPATCH_NAMES, nearest), listener),
  };
}
