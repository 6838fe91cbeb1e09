import type * as Uws from 'uWebSockets.js';
import { createRequire } from 'node:module';

/**
 * Loads the native server. Import it only from this module: the binary reads its header limit from the environment when it
 * is loaded, and the default (4 KiB) is too small for a percent-encoded audit reason of 512 characters.
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(16 * 1024);

function load(): typeof Uws {
  try {
    return createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
  } catch (cause) {
    const { node } = process.versions;
    throw new Error(
      `The native HTTP server could not be loaded for Node ${node} on ${process.platform}-${process.arch}. ` +
        'It has builds for Node 20, 22 and 24; those for 22 and 24 on Linux need glibc 2.38 or newer.',
      { cause },
    );
  }
}

export const uWS = load();

// Names the library and its version in every answer unless this setting stops it. Absent from its typings.
(uWS as { _cfg?: (switches: string) => void })._cfg?.('999999990007');
