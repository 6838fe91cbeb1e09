import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The version in the nearest package.json: next to the source, or above dist. */
function ownVersion(folder: string): string {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
  } catch {
    const above = dirname(folder);
    return above === folder ? '0.0.0' : ownVersion(above);
  }
}

/** The version of this program, `major.minor.patch`. */
export const VERSION = ownVersion(fileURLToPath(new URL('.', import.meta.url)));
