import { readFileSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import type { LinkTls } from './server.ts';

/**
 * Reads the certificates for links that the settings name; null when no file is set.
 *
 * @throws RangeError when only some of the three files are set, and the error of a file that cannot be read.
 */
export function readLinkTls(
  config: Pick<Config, 'link_ca_file' | 'link_cert_file' | 'link_key_file'>,
): LinkTls | null {
  const { link_ca_file: ca, link_cert_file: cert, link_key_file: key } = config;
  if (ca === null && cert === null && key === null) return null;
  if (ca === null || cert === null || key === null)
    throw new RangeError(
      'TLS of links needs all of link_ca_file, link_cert_file and link_key_file; only some of them are set.',
    );
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}
