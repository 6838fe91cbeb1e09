// Goal: the printed scripts complete every command and flag, as the shells themselves evaluate them.
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { run } from './arrange.ts';

const scriptOf = async (shell: string): Promise<string> => {
  const { exitCode, out } = await run(['completion', shell]);
  expect(exitCode).toBe(0);
  return out.join('\n');
};

/** Completions of bash for a command line; the last word is the one being completed. */
function completed(script: string, words: readonly string[]): readonly string[] {
  const line = `${script}
COMP_WORDS=(guildhall ${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_guildhall
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion', () => {
  test('offers commands, their subcommands and flags in bash', async () => {
    const script = await scriptOf('bash');
    expect(completed(script, ['ba'])).toEqual(['backup']);
    expect(completed(script, ['guild', ''])).toEqual(
      expect.arrayContaining(['create', 'delete', 'list', 'show']),
    );
    expect(completed(script, ['app', 'identity-provider', ''])).toEqual(
      expect.arrayContaining(['set', 'remove']),
    );
    expect(completed(script, ['guild', 'delete', '123', '--y'])).toEqual(['--yes']);
    expect(completed(script, ['dev', '--no'])).toEqual(['--no-rate-limits', '--no-guide']);
  });

  test('offers the same in zsh, through its emulation of bash', async () => {
    const script = await scriptOf('zsh');
    expect(script.split('\n').slice(0, 2)).toEqual([
      '#compdef guildhall',
      'autoload -U +X bashcompinit && bashcompinit',
    ]);
    expect(completed(script.split('\n').slice(2).join('\n'), ['res'])).toEqual(['restore']);
  });

  test('prints a line for each command in fish', async () => {
    const script = await scriptOf('fish');
    expect(script).toContain("complete -c guildhall -f -n '__fish_use_subcommand' -a 'backup'");
    expect(script).toContain(
      "-n '__fish_seen_subcommand_from guild; and __fish_seen_subcommand_from delete' -l 'yes'",
    );
  });

  test('refuses an unknown shell with the list of known ones', async () => {
    const { exitCode, err } = await run(['completion', 'csh']);
    expect(exitCode).toBe(2);
    expect(err.join('\n')).toContain('bash, zsh, fish');
  });
});
