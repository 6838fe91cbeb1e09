/** What part of a file is asked for. `end` is exclusive. */
type Range =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: Range = { kind: 'whole' };
const UNSATISFIABLE: Range = { kind: 'unsatisfiable' };
const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Reads a `Range` header (RFC 9110, 14.2) for a file of `size` bytes. One range is served; several, or what is no
 * range at all, is as if nothing had been asked.
 */
export function readRange(header: string | undefined, size: number): Range {
  const match = SINGLE.exec(header?.replaceAll(' ', '') ?? '');
  if (!match) return WHOLE;
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return WHOLE;
    const suffix = Math.min(Number(last), size);
    return suffix === 0 ? UNSATISFIABLE : { kind: 'part', start: size - suffix, end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return WHOLE;
  if (start >= size) return UNSATISFIABLE;
  return { kind: 'part', start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}
