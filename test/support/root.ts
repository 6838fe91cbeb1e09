import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of the package: above the sources, and above what is compiled from them (`dist/fuzz`). */
export const ROOT = rootAbove(import.meta.dirname);

function rootAbove(folder: string): string {
  if (existsSync(join(folder, 'tsconfig.build.json'))) return folder;
  const above = dirname(folder);
  if (above === folder) throw new Error('No tsconfig.build.json in a folder above this file.');
  return rootAbove(above);
}
