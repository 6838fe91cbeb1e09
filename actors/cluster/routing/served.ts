import assert from 'node:assert/strict';
import { LinkFault } from '../../../protocol/faults.ts';
import type { Catalogue, Method } from '../../../protocol/link.ts';
import { malformedArgs } from '../../../protocol/linkcheck.ts';
import type { ServedContext } from '../../placement/ports.ts';

/** This shard's handler of a catalogue method. */
type Served = (args: never, context: ServedContext) => unknown;

/** The catalogue's methods and this shard's handlers. */
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

  /** @throws RangeError when the method already has a handler. */
  add(name: string, run: Served): void {
    if (this.#served.has(name)) throw new RangeError(`The method "${name}" is served twice.`);
    this.#served.set(name, run);
  }

  /** A call from another shard, to be run. @throws LinkFault without a handler, or for malformed arguments. */
  forCall(name: string, args: readonly unknown[]): (context: ServedContext) => unknown {
    const run = this.#served.get(name);
    if (!run) throw new LinkFault('failed', `This shard serves no method "${name}".`);
    const malformed = malformedArgs(name, this.row(name), args);
    if (malformed !== null) throw new LinkFault('failed', malformed);
    return (context) => run(args as never, context);
  }
}
