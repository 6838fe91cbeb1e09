import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Interaction } from '../../engine/interaction/interaction.ts';
import { snowflakeAt } from '../../protocol/ids.ts';
import { NONCE_MS } from '../../protocol/interactions.ts';
import type { InteractionStore } from '../../storage/interaction/port.ts';

interface AdoptionPorts {
  readonly store: Pick<InteractionStore, 'since'>;
  /** Remembers that the nonce of a stored interaction is used. */
  note(stored: Interaction): void;
  /** Takes over a stored interaction: its state is completed, and its deadline is watched. */
  resume(stored: Interaction): Promise<void>;
  /** Whether this shard owns what belongs to a guild or private channel. */
  owns(ownerId: string): boolean;
  nowMs(): number;
  readonly scope: Pick<Lifetime, 'over'>;
  readonly wheel: Wheel;
  onFault(error: unknown): void;
}

const ROWS_MAX = 500;
/** How soon stored interactions are read again after a failure. */
const AGAIN_MS = 1_000;

/**
 * Takes over what an earlier process or owner has begun. Invocations wait only until the nonces are known: to complete
 * each interaction takes reads and a commit, and a busy application leaves many.
 */
export class Adoption {
  readonly #ports: AdoptionPorts;
  #noted: Promise<void> = Promise.resolve();

  constructor(ports: AdoptionPorts) {
    this.#ports = ports;
  }

  begin(isMine: (ownerId: string) => boolean): void {
    const { note } = this.#ports;
    const before = this.#noted.catch(() => undefined);
    this.#noted = before.then(() => this.#each(isMine, async (page) => page.forEach(note)));
    void this.#resume(isMine, this.#noted);
  }

  /** After the nonces, and again after a failure: nobody else completes these interactions. */
  async #resume(isMine: (ownerId: string) => boolean, noted: Promise<void>): Promise<void> {
    const { resume, scope, wheel, onFault } = this.#ports;
    for (let before = noted; !scope.over; before = Promise.resolve()) {
      try {
        await before;
        return await this.#each(isMine, async (page) => void (await Promise.all(page.map(resume))));
      } catch (error) {
        if (scope.over) return;
        onFault(error);
        if (!(await wheel.pause(AGAIN_MS))) return;
      }
    }
  }

  /** Waits until every nonce is known; reads them again after a failure. */
  async noted(): Promise<void> {
    await this.#noted.catch(() => {
      this.begin(() => true);
      return this.#noted;
    });
  }

  /** Reads what was begun while its nonce is valid, a page at a time. */
  async #each(
    isMine: (ownerId: string) => boolean,
    use: (page: readonly Interaction[]) => Promise<void>,
  ): Promise<void> {
    const { store, owns, nowMs, scope } = this.#ports;
    for (let after: string | null = snowflakeAt(nowMs() - NONCE_MS); after !== null && !scope.over; ) {
      const page = await store.since(after, ROWS_MAX);
      await use(page.filter(({ ownerId }) => isMine(ownerId) && owns(ownerId)));
      after = page.length === ROWS_MAX ? (page.at(-1)?.id ?? null) : null;
    }
  }
}
