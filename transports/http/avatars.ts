import { encodePng } from '../rest/png.ts';

/** Colours of the default avatars, by index. */
const COLOURS = ['#5b6ee1', '#747f8d', '#3fa66b', '#e0a030', '#d9534f', '#c25ab0'];
const SIDE = 128;
const made = new Map<number, Uint8Array>();

/** PNG of default avatar `n` (a user's id shifted right by 22, modulo six), a plain square; null for any other number. */
export function defaultAvatar(n: number): Uint8Array | null {
  const colour = COLOURS[n];
  if (colour === undefined) return null;
  const png = made.get(n) ?? square(colour);
  made.set(n, png);
  return png;
}

/** A square of one colour: all pixels are palette entry 0. */
const square = (colour: string): Uint8Array =>
  encodePng({ width: SIDE, height: SIDE, depth: 1 }, new Uint8Array((SIDE * SIDE) / 8), [colour]);
