/** At most this many calls in a sliding window. */
interface Pace {
  readonly max: number;
  readonly windowMs: number;
}

/** The gateway's limit on presence updates. @source https://docs.discord.com/developers/events/gateway-events#update-presence */
export const PRESENCE_PACE: Pace = { max: 5, windowMs: 20_000 };

/**
 * Calls `send` at a limited rate. A request beyond the rate waits; any number of waiting requests become one call, so `send`
 * reads the latest state.
 */
export function pacedSender({ max, windowMs }: Pace, send: () => void) {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let sentMs: number[] = [];
  const stop = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const request = (): void => {
    if (timer !== null) return;
    const nowMs = performance.now();
    sentMs = sentMs.filter((ms) => nowMs - ms < windowMs);
    const [first] = sentMs;
    if (first !== undefined && sentMs.length >= max) {
      timer = setTimeout(
        () => {
          timer = null;
          request();
        },
        first + windowMs - nowMs,
      );
      return;
    }
    sentMs.push(nowMs);
    send();
  };
  return { request, stop };
}
