/** Bounds how many exchanges or connections are open, in total and for each application or network. */
export class Shares {
  readonly #max: number;
  readonly #perOneMax: number;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(max: number, perOneMax: number) {
    this.#max = max;
    this.#perOneMax = perOneMax;
  }

  /** How many are open. */
  get total(): number {
    return this.#total;
  }

  /** @returns gives the share back, at most once; null when there is no room. */
  take(id: string): (() => void) | null {
    const own = this.#counts.get(id) ?? 0;
    if (this.#total >= this.#max || own >= this.#perOneMax) return null;
    this.#total += 1;
    this.#counts.set(id, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#total -= 1;
      const left = (this.#counts.get(id) ?? 1) - 1;
      if (left === 0) this.#counts.delete(id);
      else this.#counts.set(id, left);
    };
  }
}
