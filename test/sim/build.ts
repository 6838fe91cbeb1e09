import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'vite';
import { spreadsInChunks } from '../../scripts/spreads.mjs';
import { ROOT } from '../support/source.ts';
import type { Patch } from './planted/patch.ts';

/** The output folder, beside that of the program, so that packages resolve. */
const outOf = (name: string) => join(ROOT, 'dist', 'simulation', name);

/**
 * Makes one file of the simulation and all that it runs, with the bugs of `patches` in the sources: each asleep until it is
 * named. So one build has them all, and the code that is tested is the same for each. Patches that say where they begin do not
 * overlap, and those of a file come in the order from its end to its beginning.
 *
 * @returns The file.
 * @throws RangeError when a patch does not fit the source, which has changed since it was written.
 */
export async function bundle(name: string, patches: readonly Patch[] = []): Promise<string> {
  const outDir = outOf(name);
  await rm(outDir, { recursive: true, force: true });
  const fitted = new Set<Patch>();
  await build({
    root: ROOT,
    configFile: false,
    logLevel: 'error',
    plugins: [planting(patches, fitted), spreadsInChunks],
    build: {
      ...{ ssr: 'test/sim/main.ts', outDir, target: 'node20', minify: false, emptyOutDir: true },
      rollupOptions: { output: { entryFileNames: 'sim.mjs', codeSplitting: false } },
    },
  });
  // A patch that a program has made may be of a file that the simulation does not load: nothing reaches it then.
  const misfits = patches
    .filter((patch) => 'file' in patch && patch.at === undefined && !fitted.has(patch))
    .map((patch) => patch.name);
  if (misfits.length > 0)
    throw new RangeError(`These patches find nothing to change: ${misfits.join(', ')}.`);
  return join(outDir, 'sim.mjs');
}

/** Puts bugs into sources as they are read. */
function planting(patches: readonly Patch[], fitted: Set<Patch>): Plugin {
  return {
    name: 'planting',
    enforce: 'pre',
    transform(code, id) {
      const path = id.slice(ROOT.length + 1);
      let changed = code;
      for (const patch of patches.filter(
        (each): each is SourcePatch => 'file' in each && each.file === path,
      )) {
        changed = planted(changed, patch);
        fitted.add(patch);
      }
      return changed === code ? null : { code: changed, map: null };
    },
  };
}

type SourcePatch = Extract<Patch, { file: string }>;

/** Text before and after the place of a patch. */
function around(code: string, { name, file, from, at }: SourcePatch): readonly [string, string] {
  if (at !== undefined) {
    if (!code.startsWith(from, at)) throw new RangeError(`The patch "${name}" does not fit ${file}.`);
    return [code.slice(0, at), code.slice(at + from.length)];
  }
  const [before, after, ...more] = code.split(from);
  if (before === undefined || after === undefined || more.length > 0)
    throw new RangeError(`The patch "${name}" fits ${code.split(from).length - 1} places of ${file}.`);
  return [before, after];
}

function planted(code: string, patch: SourcePatch): string {
  const { name, from, to } = patch;
  const [before, after] = around(code, patch);
  const test = `globalThis.isPlanted(${JSON.stringify(name)})`;
  const guarded =
    patch.kind === 'expression'
      ? `(${test} ? (${to}) : (${from}))`
      : `if (${test}) { ${to} } else { ${from} }`;
  return before + guarded + after;
}
