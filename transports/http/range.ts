/** The requested part of a file. `end` is exclusive. */
type Range =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: Range = { kind: 'whole' };
const UNSATISFIABLE: Range = { kind: 'unsatisfiable' };
const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Parses a `Range` header (RFC 9110, 14.2) for a file of `size` bytes. A single range is supported; several ranges, or a
 * malformed header, are ignored.
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
