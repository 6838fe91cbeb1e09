/**
 * SIGTERM and SIGINT of a server: the first signal requests an orderly stop, the second one ends the process. This module
 * imports nothing, so that it handles signals before the rest of the server is loaded, which takes about a second.
 */

let stopRequested: Promise<void> | null = null;

/**
 * Installs the signal handlers at the first call; every call returns the same promise.
 *
 * @param isShard For a shard, SIGINT is ignored: Ctrl-C reaches it too, but its supervisor decides when it ends.
 * @returns a promise that resolves at the first signal to stop.
 */
export function untilToldToStop(isShard: boolean): Promise<void> {
  stopRequested ??= new Promise((resolve) => {
    let isTold = false;
    const stop = (code: number) => () => {
      if (isTold) process.exit(code);
      isTold = true;
      resolve();
    };
    process.on('SIGINT', isShard ? () => undefined : stop(130));
    process.on('SIGTERM', stop(143));
  });
  return stopRequested;
}
