import type { Lobby } from '../../engine/lobby/lobby.ts';
import { dropOldest } from '../../protocol/oldest.ts';

const KEPT_MAX = 10_000;

/** Newly created, empty lobbies: the first command need not read them from the store. */
export class FreshLobbies {
  readonly #kept = new Map<string, Lobby>();

  keep(lobby: Lobby): void {
    this.#kept.set(lobby.id, lobby);
    dropOldest(this.#kept, KEPT_MAX);
  }

  /** Another shard owns and loads them. */
  forget(which: (id: string) => boolean): void {
    for (const id of [...this.#kept.keys()]) if (which(id)) this.#kept.delete(id);
  }

  /** Returns a lobby once: only its actor changes it, and a later actor reads the stored state. */
  take(id: string): Lobby | null {
    const lobby = this.#kept.get(id) ?? null;
    this.#kept.delete(id);
    return lobby;
  }
}
