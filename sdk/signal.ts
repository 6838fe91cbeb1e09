/** Removes a callback; idempotent. */
export type Disposer = () => void;

/**
 * Callbacks of one event. Exceptions of a callback are passed to `complain` and affect neither other callbacks nor
 * the library.
 */
export class Signal<Args extends readonly unknown[]> {
  readonly #complain: (error: unknown) => void;
  readonly #added = new Set<(...args: Args) => void>();
  #only: ((...args: Args) => void) | null = null;

  constructor(complain: (error: unknown) => void) {
    this.#complain = complain;
  }

  /** Sets the application's callback and replaces the previous one. */
  readonly set = (callback: (...args: Args) => void): Disposer => {
    this.#only = callback;
    return () => {
      if (this.#only === callback) this.#only = null;
    };
  };

  /** Adds one of any number of callbacks. */
  readonly add = (callback: (...args: Args) => void): Disposer => {
    // Wrapped, so that a callback added twice is removed once per disposer.
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

  get hasCallbacks(): boolean {
    return this.#only !== null || this.#added.size > 0;
  }
}
