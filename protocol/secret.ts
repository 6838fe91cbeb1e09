const MASK = '[secret]';
/** The key of `util.inspect.custom`. @source https://nodejs.org/api/util.html#utilinspectcustom */
const INSPECTED = Symbol.for('nodejs.util.inspect.custom');

/**
 * A text that must not reach a log: printing, inspecting or serialising it yields `[secret]`. Only `reveal` returns the
 * text, so that a search for that word finds every place where a secret leaves the server.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [INSPECTED](): string {
    return MASK;
  }
}
