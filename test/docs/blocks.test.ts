// Goal: each program and command of a tutorial or how-to is run by test/e2e/docsblocks.test.ts, or the page says why not.
import { describe, expect, test } from 'vitest';
import { blocksOf, GUIDES, isProgram } from '../support/docsblocks.ts';

describe.each(GUIDES)('%s', (page) => {
  const blocks = blocksOf(page);

  test('runs each program with a command, or says why it does not', () => {
    const ran = blocks.filter(({ language, reason }) => language === 'sh' && reason === null);
    const all = ran.map(({ text }) => text).join('\n');
    const idle = blocks
      .filter((block) => isProgram(block) && block.language !== 'sh' && block.reason === null)
      .filter(
        ({ file }) => file === null || !isNamedIn(file, all, blocks.map(({ text }) => text).join('\n')),
      );
    expect(idle.map(({ text }) => text.split('\n')[0])).toEqual([]);
  });

  test('gives a reason of more than 30 characters for a block that is not run', () => {
    for (const { reason } of blocks) if (reason !== null) expect(reason.length).toBeGreaterThan(30);
  });
});

/** A command names the file, or another program of the page imports it. */
const isNamedIn = (file: string, commands: string, programs: string): boolean =>
  commands.includes(file) || programs.includes(`'./${file}'`);
