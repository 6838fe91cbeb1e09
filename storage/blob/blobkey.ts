const SEGMENT = /^[a-z0-9_-][a-z0-9_.-]{0,127}$/;
const KEY_CHARS_MAX = 512;

/**
 * True for segments of `[a-z0-9_.-]`, each 1 to 128 characters and none beginning with a dot, joined by slashes. A
 * key that is true here names nothing outside of its store, on any file system and in any URL.
 */
export const isBlobKey = (key: string): boolean =>
  key.length <= KEY_CHARS_MAX && key.split('/').every((segment) => SEGMENT.test(segment));

/** @throws TypeError for a key that the server should not have made. */
export function assertBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError(`not a key of a blob: ${JSON.stringify(key)}`);
}
