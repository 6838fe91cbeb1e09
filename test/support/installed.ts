import { spawnSync } from 'node:child_process';

/** The first of these programs, by name or path, that the machine can run; null when it has none. */
export const installed = (...programs: readonly string[]): string | null =>
  programs.find((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined) ??
  null;
