/**
 * For how long the process did not read from clients, when a sweep of their deadlines runs at `nowMs` instead of at `dueMs`: it was
 * stopped, suspended or busy. Frames received meanwhile are unread, so no client counts as late. 0 for a delay below one interval.
 */
export const standstillMs = (nowMs: number, dueMs: number, everyMs: number): number =>
  nowMs - dueMs > everyMs ? nowMs - dueMs : 0;
