/**
 * SIGTERM and SIGINT of a server: the first one is a wish to end in good order, a second one ends the process. This module
 * imports nothing, so that it stands before the second that the rest of a server takes to load.
 */

let told: Promise<void> | null = null;

/**
 * Listens from the first call on; every call returns the same promise.
 *
 * @param isShard Ctrl-C reaches the shards of a supervisor too, which itself says when they are to end.
 * @returns when the process is first told to end.
 */
export function untilToldToStop(isShard: boolean): Promise<void> {
  told ??= new Promise((resolve) => {
    let isTold = false;
    const stop = (code: number) => () => {
      if (isTold) process.exit(code);
      isTold = true;
      resolve();
    };
    process.on('SIGINT', isShard ? () => undefined : stop(130));
    process.on('SIGTERM', stop(143));
  });
  return told;
}
