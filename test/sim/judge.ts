import type { World } from './world.ts';

export interface Violation {
  /** Which invariant. */
  readonly rule: string;
  readonly what: string;
  readonly atMs: number;
}

/** Keeps what went against an invariant. */
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
