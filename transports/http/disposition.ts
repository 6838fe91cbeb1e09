const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,127}$/;
/** Images a browser shows without running anything in them; SVG is not among them. */
const IMAGES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/apng',
  'image/bmp',
]);

/** The type to serve: what was stored, when it is a type at all. Parameters are dropped. */
export function servedType(stored: string): string {
  const [type = ''] = stored.toLowerCase().split(';', 1);
  return TYPE.test(type.trim()) ? type.trim() : 'application/octet-stream';
}

/** True for what a browser may show in place; everything else, and XML under whatever name, is for saving only. */
export function isShown(type: string): boolean {
  return IMAGES.has(type) || (/^(?:audio|video)\//.test(type) && !type.endsWith('xml'));
}

/**
 * `Content-Disposition: attachment` with the file's name: an ASCII stand-in for old readers and the real one
 * (RFC 6266, 5987). Any text is safe in it.
 */
export function attachmentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  // A lone surrogate cannot be encoded; the detour through bytes puts U+FFFD in its place.
  const escaped = encodeURIComponent(Buffer.from(filename).toString()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${escaped}`;
}
