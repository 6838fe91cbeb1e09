import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { filesUnder, ROOT, read } from '../../support/source.ts';
import type { Mutation } from './mutations.ts';

/** The longest run of a file's unit tests: what takes longer hangs. */
const RUN_MS = 5 * 60_000;

/** What vitest's JSON reporter writes. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** The unit tests that import the file or lie in its folder. */
export function unitTestsOf(file: string, tests = filesUnder('test', /\.test\.ts$/), text = read): string[] {
  const folder = `test/${dirname(file)}/`;
  const imported = new RegExp(`from '[./]*/${file.replaceAll('.', '\\.')}'`);
  return tests.filter(
    (path) =>
      !/^test\/(e2e|suites|sim|bench|sdk)\//.test(path) &&
      (path.startsWith(folder) || imported.test(text(path))),
  );
}

/**
 * Runs unit tests against mutants in a copy of the sources, so that nothing else sees the change. `run` is called one at a
 * time.
 */
export class MutantTests {
  readonly #folder: string;
  readonly #testsOf: (file: string) => readonly string[];
  /** Test files by whether they pass without a mutant. */
  readonly #passing = new Map<string, boolean>();

  /** @param folder Replaced by the copy. It lies below the root, where packages are found. */
  constructor(folder: string, testsOf: (file: string) => readonly string[] = unitTestsOf) {
    this.#folder = join(ROOT, folder);
    this.#testsOf = testsOf;
    this.end();
    mkdirSync(this.#folder, { recursive: true });
    // A newer lock file would make `npm ci` run in the copy, and with that in the packages that it shares.
    for (const path of filesUnder())
      cpSync(join(ROOT, path), join(this.#folder, path), { preserveTimestamps: true });
    for (const shared of ['node_modules', 'dist'])
      if (existsSync(join(ROOT, shared))) symlinkSync(join(ROOT, shared), join(this.#folder, shared));
  }

  /** Removes the copy. */
  end(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @returns The first test that fails with the mutant; null when none does. */
  async run({ file, at, from, to }: Mutation): Promise<string | null> {
    const tests: string[] = [];
    for (const test of this.#testsOf(file)) if (await this.#passes(test)) tests.push(test);
    if (tests.length === 0) return null;
    const path = join(this.#folder, file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, `${source.slice(0, at)}${to}${source.slice(at + from.length)}`);
    try {
      return await this.#firstFailing(tests);
    } finally {
      writeFileSync(path, source);
    }
  }

  /** A test that fails anyway proves nothing. */
  async #passes(test: string): Promise<boolean> {
    const known = this.#passing.get(test);
    if (known !== undefined) return known;
    const passes = (await this.#firstFailing([test])) === null;
    this.#passing.set(test, passes);
    return passes;
  }

  async #firstFailing(tests: readonly string[]): Promise<string | null> {
    const output = join(this.#folder, 'vitest.json');
    rmSync(output, { force: true });
    const args = ['run', '--bail', '1', '--reporter', 'json', '--outputFile', output, ...tests];
    const vitest = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args], {
      ...{ cwd: this.#folder, stdio: 'ignore', timeout: RUN_MS, killSignal: 'SIGKILL' },
    });
    const code = await new Promise<number | null>((resolve) => vitest.once('close', resolve));
    if (code === 0) return null;
    if (!existsSync(output)) return code === null ? 'the tests do not end' : 'the tests do not start';
    return firstFailing(JSON.parse(readFileSync(output, 'utf8')) as Report);
  }
}

function firstFailing({ testResults }: Report): string {
  const failed = testResults.find(({ status }) => status === 'failed');
  const test = failed?.assertionResults.find(({ status }) => status === 'failed');
  return test?.fullName ?? `${basename(failed?.name ?? 'a file')} as a whole`;
}
