import type { World } from './world.ts';

export interface Violation {
  /** Name of the invariant. */
  readonly rule: string;
  readonly what: string;
  readonly atMs: number;
}

/** Collects violations of invariants. */
export class Judge {
  readonly violations: Violation[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  get failed(): boolean {
    return this.violations.length > 0;
  }

  note(line: string): void {
    this.#world.note(line);
  }

  expect(holds: boolean, rule: string, what: () => string): void {
    if (holds) return;
    const text = what();
    this.#world.note(`VIOLATED ${rule}: ${text}`);
    this.violations.push({ rule, what: text, atMs: this.#world.nowMs });
  }
}
