import { dropOldest } from '../../protocol/oldest.ts';

const KEPT_MAX = 4_096;

/**
 * State that no table holds, kept in memory for the next actor of an aggregate in this process after one failed. A database that
 * crashes may lose what is written of it. At the bound the oldest is dropped.
 */
export class KeptStates<State> {
  readonly #byId = new Map<string, { readonly epoch: number; readonly state: State }>();

  /** @param epoch Of the actor that failed; 0 in standalone mode. */
  keep(id: string, epoch: number, state: State): void {
    this.#byId.set(id, { epoch, state });
    dropOldest(this.#byId, KEPT_MAX);
  }

  /** Null without any, and when the aggregate has had another owner since. It stays until `drop`, because a load may fail. */
  of(id: string, epoch: number): State | null {
    const kept = this.#byId.get(id);
    return kept?.epoch === epoch ? kept.state : null;
  }

  drop(id: string): void {
    this.#byId.delete(id);
  }
}
