// Goal: a developer's command with wrong options says what is wrong and how it is used, instead of running or throwing.
import { expect, it } from 'vitest';
import { CommandExit, optionsOf } from './commandline.ts';

const USAGE = 'npm run x -- [--seeds N]';
const OPTIONS = { seeds: { type: 'string', default: '1' }, quick: { type: 'boolean' } } as const;

const read = (...args: string[]) => {
  try {
    return optionsOf(args, USAGE, OPTIONS, ['seeds']);
  } catch (error) {
    if (!(error instanceof CommandExit)) throw error;
    return [error.exitCode, error.message];
  }
};

it('reads options and fills in defaults', () => {
  expect(read('--seeds', '20', '--quick')).toEqual({ seeds: '20', quick: true });
  expect(read()).toEqual({ seeds: '1' });
});

it('prints its usage for --help and succeeds', () => expect(read('--help')).toEqual([0, USAGE]));

it.each([
  [['--sedes', '20'], /'--sedes'/],
  [['--seeds', 'many'], /^--seeds is a whole number, not "many"\./],
  [['--seeds', '-1'], /--seeds/],
  [['--seeds', '1.5'], /^--seeds is a whole number/],
  [['more'], /more/],
])('names the mistake in %j before its usage', (args, mistake) => {
  const [code, text] = read(...args) as [number, string];
  expect([code, text.endsWith(`\n\n${USAGE}`)]).toEqual([2, true]);
  expect(text).toMatch(mistake);
});
