// Goal: each program and command of a tutorial or how-to is run by test/e2e/docsblocks.test.ts, or the page says why not; so is each
// command of any other page, which names only commands and scripts that exist.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../cli/arrange.ts';
import { blocksOf, COMMAND_PAGES, GUIDES, isProgram } from '../support/docsblocks.ts';
import { filesUnder, ROOT, read } from '../support/source.ts';

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

const PAGES = filesUnder('docs').filter((path) => path.endsWith('.md'));
const commandsOf = (page: string) => blocksOf(page).filter(({ language }) => language === 'sh');

describe('the pages that are no guides', () => {
  const others = PAGES.filter((page) => !GUIDES.includes(page));

  test('run each block of commands, do no more than start a server, or say why not', () => {
    const silent = others
      .filter((page) => !COMMAND_PAGES.includes(page))
      .flatMap((page) => commandsOf(page).map((block) => ({ ...block, page })))
      .filter(({ text, reason }) => reason === null && text.trim() !== 'npm start');
    expect(silent.map(({ page, text }) => `${page}: ${text.split('\n')[0]}`)).toEqual([]);
  });

  test('name tests that exist where a block is not run', () => {
    const named = others.flatMap((page) =>
      commandsOf(page).flatMap(({ reason }) => [...(reason ?? '').matchAll(/`(test\/[\w./]+)`/g)]),
    );
    expect(named.length).toBeGreaterThan(15);
    expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe('the blocks of commands', () => {
  const lines = ['README.md', 'CONTRIBUTING.md', ...PAGES].flatMap((page) =>
    commandsOf(page).flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, ' ').split('\n')),
  );

  test('name only commands of guildhall that exist, with options that they have', async () => {
    const calls = lines.flatMap(
      (line) => /^(?:\S+=\S+ |npx )*guildhall ([a-z][^#|>]*)/.exec(line)?.[1] ?? [],
    );
    expect(calls.length).toBeGreaterThan(40);
    for (const call of new Set(calls)) {
      // The tests of test/bench read the options of benches.
      if (call.startsWith('bench ')) continue;
      const words = call.trim().split(/\s+/);
      const end = words.findIndex((word) => !/^[a-z][\w-]*$/.test(word));
      const helped = await run([...words.slice(0, end < 0 ? 2 : Math.min(end, 3)), '--help']);
      expect([call, helped.exitCode]).toEqual([call, 0]);
      const help = helped.out.join('\n');
      for (const [, option = ''] of call.matchAll(/\s(--[a-z][\w-]*)/g)) expect(help, call).toContain(option);
    }
  });

  test('name only scripts of package.json', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const names = lines.flatMap((line) => /^(?:\S+=\S+ )*npm run ([\w:]+)/.exec(line)?.[1] ?? []);
    expect(names.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});
