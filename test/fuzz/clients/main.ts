import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../../support/root.ts';
import { defectsMet } from './bots.ts';
import { described, type Found, runClients } from './run.ts';

const PROGRESS_BODIES = 5_000;

/** The target `clients`, from the command line: prints what it found, and whether that is nothing. */
export async function fuzzClients(bodies: number, seed: number, from: number): Promise<boolean> {
  build();
  const startedMs = performance.now();
  const seconds = () => Math.round((performance.now() - startedMs) / 1000);
  let told = 0;
  const progress = (done: number, found: number) => {
    if (done - told < PROGRESS_BODIES) return;
    told = done;
    console.log(`clients   ${done} bodies in ${seconds()} s, seed ${seed}, ${found} faults`);
  };
  const onFound = (found: Found) => console.error(`FAULT ${described(found, seed)}\n`);
  const run = await runClients(bodies, seed, { from, progress, onFound });
  const outcomes = [...run.outcomes].sort(([one], [other]) => one.localeCompare(other));
  console.log(
    `clients   ${run.bodies} bodies in ${seconds()} s, seed ${seed}, ${run.found.length} faults:`,
    outcomes.map(([outcome, times]) => `${outcome} ${times}`).join(', '),
  );
  for (const [what, times] of defectsMet) console.log(`clients   left out ${times} times: ${what}`);
  return run.found.length === 0;
}

/** The server under test is the built one, in a process of its own. */
function build(): void {
  const prepare = pathToFileURL(join(ROOT, 'scripts/prepare.mjs'));
  const program = `(await import('${prepare}')).ensureBuilt()`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error('There is nothing to test: the sources do not compile.');
}
