/** For how long a user may still be silent until it counts as away, milliseconds; 0 when the time is over. */
export const silenceLeftMs = (spokeMs: number, afkAfterMs: number, nowMs: number): number =>
  Math.max(0, spokeMs + afkAfterMs - nowMs);
