/** Bounds and intervals of the server that no operator sets. */

/** How long a socket may take to close after it was asked to, milliseconds. */
export const CLOSE_GRACE_MS = 5_000;

/** Most rate-limit windows kept; the emptiest are evicted first. */
export const LIMIT_ENTRIES_MAX = 200_000;

/** How long an application's URL may take to answer, milliseconds. */
export const ENDPOINT_TIMEOUT_MS = 3_000;

/** Requests to identity providers, whose documents are small. */
export const PROVIDER_REQUESTS = { timeoutMs: 10_000, bytesMax: 256 << 10, requestsMax: 64 } as const;

/** Shortest interval of game ticks, and how late a tick may run, milliseconds. */
export const GAME_TICK_MS = 10;

/** Random bytes that tell the runs of a shard apart. */
export const INSTANCE_BYTES = 8;

/** The window of `global_requests_per_sec`, milliseconds. */
export const GLOBAL_WINDOW_MS = 1_000;
