const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,127}$/;
/** Image types that browsers show without running scripts in them; SVG is not one. */
const IMAGES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/apng',
  'image/bmp',
]);

/** The content type to serve: the stored one without parameters, or a generic one if that is malformed. */
export function servedType(stored: string): string {
  const [type = ''] = stored.toLowerCase().split(';', 1);
  return TYPE.test(type.trim()) ? type.trim() : 'application/octet-stream';
}

/** Whether a browser may show the type inline; everything else, and any kind of XML, is served as a download. */
export function isShown(type: string): boolean {
  return IMAGES.has(type) || (/^(?:audio|video)\//.test(type) && !type.endsWith('xml'));
}

/**
 * `Content-Disposition: attachment` with the file's name: an ASCII replacement for old clients and the real name
 * (RFC 6266, 5987). Safe for any text.
 */
export function attachmentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  // encodeURIComponent throws on a lone surrogate; converting to bytes replaces it with U+FFFD.
  const escaped = encodeURIComponent(Buffer.from(filename).toString()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${escaped}`;
}
