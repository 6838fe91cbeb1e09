const SEGMENT = /^[a-z0-9_-][a-z0-9_.-]{0,127}$/;
const KEY_CHARS_MAX = 512;

/**
 * Whether a key consists of segments of `[a-z0-9_.-]`, each of 1 to 128 characters and not starting with a dot, joined by
 * slashes. Such a key cannot name anything outside its store, on any file system and in any URL.
 */
export const isBlobKey = (key: string): boolean =>
  key.length <= KEY_CHARS_MAX && key.split('/').every((segment) => SEGMENT.test(segment));

/** @throws TypeError for a malformed key, which is a bug: the server generates all keys. */
export function assertBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new TypeError(`malformed blob key: ${JSON.stringify(key)}`);
}
