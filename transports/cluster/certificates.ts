import { readFileSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import type { LinkTls } from './door.ts';

/**
 * The certificates that the settings name; null when they name none.
 *
 * @throws RangeError when some of the three are missing, and what reading a file throws.
 */
export function readLinkTls(
  config: Pick<Config, 'link_ca_file' | 'link_cert_file' | 'link_key_file'>,
): LinkTls | null {
  const { link_ca_file: ca, link_cert_file: cert, link_key_file: key } = config;
  if (ca === null && cert === null && key === null) return null;
  if (ca === null || cert === null || key === null)
    throw new RangeError('TLS of links needs all of link_ca_file, link_cert_file and link_key_file.');
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}
