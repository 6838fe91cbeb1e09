/** Bounds that the run under way has hit. */
export const hits = new Set<string>();

/** For what a build has put into the program at its bounds (`bounds.json`): it imports nothing. */
Object.defineProperty(globalThis, 'boundHit', {
  value: (name: string, isHit: boolean) => {
    if (isHit) hits.add(name);
  },
});

/** Of each bound: the share of seeds that must hit it. */
export const HIT_MIN = 0.01;
/** From so many seeds on the shares say something. */
export const COUNTED_SEEDS = 1_000;
