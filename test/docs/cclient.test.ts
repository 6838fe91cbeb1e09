// Goal: the client in C of docs/how-to/c.md stays short and compiles without a warning.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { read } from '../support/source.ts';

const LINES_MAX = 150;
const [, program = ''] = /^```c\n([\s\S]*?)^```$/m.exec(read('docs/how-to/c.md')) ?? [];
const lacksCompiler = spawnSync('cc', ['--version']).status !== 0;
if (lacksCompiler) console.log('Left out: no C compiler (cc) is installed.');

test('the client in C has at most 150 lines', () => {
  expect(program).toContain('int main(');
  expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(LINES_MAX);
});

test.skipIf(lacksCompiler)('the client in C compiles without a warning (skipped without cc)', () => {
  const flags = ['-std=c11', '-D_POSIX_C_SOURCE=200809L', '-Wall', '-Wextra', '-Werror', '-fsyntax-only'];
  const { status, stderr } = spawnSync('cc', [...flags, '-x', 'c', '-'], {
    input: program,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
});
