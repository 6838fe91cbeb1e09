import assert from 'node:assert/strict';
import { LinkFault } from '../../../protocol/faults.ts';
import { type Catalogue, type Method, malformedArgs } from '../../../protocol/link.ts';
import type { ServedContext } from '../../placement/ports.ts';

/** What this shard does when another one calls a method. */
export type Served = (args: never, context: ServedContext) => unknown;

/** The methods of the catalogue, and what this shard does for each. */
export class ServedMethods {
  readonly #catalogue: Catalogue;
  readonly #served = new Map<string, Served>();

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  row(name: string): Method {
    const method = this.#catalogue.get(name);
    assert(method, `The catalogue has no method "${name}".`);
    return method;
  }

  /** @throws RangeError when the method is served already. */
  add(name: string, run: Served): void {
    if (this.#served.has(name)) throw new RangeError(`The method "${name}" is served twice.`);
    this.#served.set(name, run);
  }

  /** What to run for a call from another shard. @throws LinkFault when nothing serves it, or its arguments are malformed. */
  forCall(name: string, args: readonly unknown[]): Served {
    const run = this.#served.get(name);
    if (!run) throw new LinkFault('failed', `This shard serves no method "${name}".`);
    const malformed = malformedArgs(name, this.row(name), args);
    if (malformed !== null) throw new LinkFault('failed', malformed);
    return run;
  }
}
