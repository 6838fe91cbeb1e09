// Goal: a bench of a server that does not run says that nothing answers there, and nothing else.
import { Command } from 'commander';
import { describe, expect, test, vi } from 'vitest';
import { addBenchCommand } from '../../bench/command.ts';

const URL_OF_NONE = ['--url', 'ws://127.0.0.1:1'];

describe('a bench of a server that does not run', () => {
  test.each([
    [['gateway', '--token', 'x', '-n', '4']],
    [['lobbies', '--token', 'x']],
    [['lobbies', '--storm', '--token', 'x']],
    [
      [
        'voice',
        '--token',
        'x',
        '--token',
        'y',
        '--guild',
        '1',
        '--calls',
        '1',
        '--members',
        '2',
        '--speakers',
        '1',
      ],
    ],
  ])('%j says that nothing answers, before it says anything else', async (argv) => {
    const said: string[] = [];
    const program = new Command().exitOverride();
    addBenchCommand(program);
    const stderr = vi
      .spyOn(process.stderr, 'write')
      .mockImplementation((text) => said.push(String(text)) > 0);
    try {
      const run = program.parseAsync(['bench', ...argv, ...URL_OF_NONE], { from: 'user' });
      await expect(run).rejects.toThrow('Nothing answers at http://127.0.0.1:1: ');
    } finally {
      stderr.mockRestore();
    }
    expect(said.join('')).not.toContain('max_concurrency');
  });
});
