/** Bounds that the current run has hit. */
export const hits = new Set<string>();

/** Called by the code that a build inserts at the bounds of `bounds.json`; that code cannot import. */
Object.defineProperty(globalThis, 'boundHit', {
  value: (name: string, isHit: boolean) => {
    if (isHit) hits.add(name);
  },
});

/** The share of seeds that must hit each bound. */
export const HIT_MIN = 0.01;
/** With fewer seeds the shares mean nothing. */
export const COUNTED_SEEDS = 1_000;
