// Goal: a mutant is killed by unit tests only when one that passes without it fails with it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, read } from '../../support/source.ts';
import { MutantTests, unitTestsOf } from './unittests.ts';

const FILE = 'actors/runtime/semaphore.ts';
const FOLDER = 'dist/simulation/mutants-tests-of-tests';

/** The change of the one place that contains `from`. */
function mutation(from: string, to: string) {
  const text = read(FILE);
  expect(text.split(from)).toHaveLength(2);
  return { file: FILE, at: text.indexOf(from), from, to, line: 1 };
}

describe('the unit tests of a file', () => {
  const texts: Record<string, string> = {
    'test/actors/runtime/work.test.ts': '',
    'test/compose/a.test.ts': "import { Semaphore } from '../../actors/runtime/semaphore.ts';",
    'test/compose/b.test.ts': "import { Semaphores } from '../../actors/runtime/semaphores.ts';",
    'test/e2e/c.test.ts': "import { Semaphore } from '../../actors/runtime/semaphore.ts';",
  };

  it('are those of its folder and those that import it, without tests of whole servers', () => {
    expect(unitTestsOf(FILE, Object.keys(texts), (path) => texts[path] ?? '')).toEqual([
      'test/actors/runtime/work.test.ts',
      'test/compose/a.test.ts',
    ]);
  });
});

describe('a mutant that the simulation does not detect', () => {
  let tests: MutantTests;
  beforeAll(() => {
    tests = new MutantTests(FOLDER, () => ['test/actors/runtime/semaphore.test.ts']);
  });
  afterAll(() => tests.end());

  it('is killed by the first unit test that fails with it', { timeout: 120_000 }, async () => {
    expect(await tests.run(mutation('this.#running -= 1', 'undefined'))).toMatch(/semaphore/i);
  });

  it('survives when no unit test fails', { timeout: 120_000 }, async () => {
    expect(await tests.run(mutation('this.#running -= 1', 'this.#running -= 1 + 0'))).toBeNull();
  });

  it('is in the copy only while its tests run', () => {
    expect(read(join(FOLDER, FILE))).toBe(read(FILE));
  });

  it('leaves no copy behind', () => {
    tests.end();
    expect(existsSync(join(ROOT, FOLDER))).toBe(false);
  });
});
