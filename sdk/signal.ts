/** Takes back what was registered; again it does nothing. */
export type Disposer = () => void;

/** Callbacks of one event. What one of them throws reaches `complain`, and neither the others nor the library. */
export class Signal<Args extends readonly unknown[]> {
  readonly #complain: (error: unknown) => void;
  readonly #added = new Set<(...args: Args) => void>();
  #only: ((...args: Args) => void) | null = null;

  constructor(complain: (error: unknown) => void) {
    this.#complain = complain;
  }

  /** The one callback of the application; it takes the place of the one before. */
  readonly set = (callback: (...args: Args) => void): Disposer => {
    this.#only = callback;
    return () => {
      if (this.#only === callback) this.#only = null;
    };
  };

  /** One of any number of callbacks. */
  readonly add = (callback: (...args: Args) => void): Disposer => {
    // A wrapper of its own, so that a callback which was added twice is taken back once.
    const entry = (...args: Args) => callback(...args);
    this.#added.add(entry);
    return () => void this.#added.delete(entry);
  };

  readonly emit = (...args: Args): void => {
    for (const callback of [...this.#added, ...(this.#only === null ? [] : [this.#only])]) {
      try {
        callback(...args);
      } catch (error) {
        this.#complain(error);
      }
    }
  };

  get heard(): boolean {
    return this.#only !== null || this.#added.size > 0;
  }
}
