// The commit that a build is of, for `Client.getVersionHash()`; empty outside of a repository.
import { spawnSync } from 'node:child_process';

const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], {
  cwd: import.meta.dirname,
  encoding: 'utf8',
});
const commit = status === 0 ? stdout.trim() : '';

/** @param {string} code the text of `sdk/version` @returns the same with the commit */
export const withCommit = (code) => code.replace("COMMIT = ''", `COMMIT = '${commit}'`);
