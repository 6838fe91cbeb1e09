import type { UserId } from './ids.ts';

/** How long a network or a browser stays known after the last sign-in from it. */
export const KNOWN_MS = 180 * 24 * 3_600_000;

/** Form of a device name, which a browser has per account: the user's id and 256 random bits. */
const DEVICE_NAME = /^[0-9]{1,20}\.[\w-]{43}$/;
/** Most device names in one browser; the one whose account signed in longest ago is dropped. */
const DEVICE_NAMES_MAX = 4;

/** The browser's device name for the account; null without one. The name proves nothing by itself. */
export const deviceOf = (userId: UserId, names: readonly string[] = []): string | null =>
  names.find((name) => DEVICE_NAME.test(name) && name.startsWith(`${userId}.`)) ?? null;

/** The device names in a browser's cookie; none when the cookie is malformed. */
export function deviceNames(cookie: string): readonly string[] {
  const names = cookie.split('~', DEVICE_NAMES_MAX + 1);
  return names.length <= DEVICE_NAMES_MAX && names.every((name) => DEVICE_NAME.test(name)) ? names : [];
}

/** The cookie with a new device name next to those of other accounts. */
export function withDeviceName(userId: UserId, name: string, names: readonly string[] = []): string {
  const others = names.filter((one) => !one.startsWith(`${userId}.`));
  return [name, ...others].slice(0, DEVICE_NAMES_MAX).join('~');
}
