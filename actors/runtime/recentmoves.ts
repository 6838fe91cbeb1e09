import type { Clock } from './clock.ts';

/** With more moves at a time, every id counts as moved. */
const MOVES_MAX = 64;

/** The ids that got another owner a moment ago. Users arrive at a next owner before their sessions are opened there once more. */
export class RecentMoves {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #forMs: number;
  #moves: { readonly untilMs: number; readonly moved: (id: string) => boolean }[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  /** @param moved Whether an id's partition has moved, as `Routing.onMoved` names it. */
  add(moved: (id: string) => boolean): void {
    const untilMs = this.#clock.monotonic() + this.#forMs;
    this.#moves = [...this.#moves.slice(-MOVES_MAX), { untilMs, moved }];
  }

  has(id: string): boolean {
    const nowMs = this.#clock.monotonic();
    this.#moves = this.#moves.filter(({ untilMs }) => untilMs > nowMs);
    return this.#moves.length > MOVES_MAX || this.#moves.some(({ moved }) => moved(id));
  }
}
