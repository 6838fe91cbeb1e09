import { spawnSync } from 'node:child_process';
import { loadAddon, type MediaAddon } from '../../../media/io/addon.ts';

/** The addon, built where a compiler is; or why this machine has none. */
export function builtAddon(): {
  readonly addon: MediaAddon | null;
  readonly file: string;
  readonly why: string;
} {
  const { stderr } = spawnSync(process.execPath, ['scripts/addon.mjs'], { encoding: 'utf8' });
  const found = loadAddon();
  return found.addon === null
    ? { addon: null, file: '', why: `${found.reason} ${stderr}` }
    : { addon: found.addon, file: found.file, why: '' };
}
