// Goal: `bench gateway`, `bench lobbies` and `bench voice` take the same options with the same meaning, and a run that
// failed says so whatever form was asked for.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, type Option } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { addBenchCommand } from '../../bench/command.ts';
import { present } from '../../bench/options.ts';
import { csvTable } from '../../bench/table.ts';

const BENCHES = ['gateway', 'lobbies', 'voice'] as const;
const SAME = ['--report', '--url', '--spawn', '--threshold', '--json', '--csv'];

function benchOf(name: string): Command {
  const program = new Command('guildhall').exitOverride().configureOutput({ writeErr: () => {} });
  addBenchCommand(program);
  const bench = program.commands[0]?.commands.find((each) => each.name() === name) as Command;
  return bench.exitOverride().configureOutput({ writeErr: () => {} });
}

const optionOf = (bench: Command, long: string): Option | undefined =>
  bench.options.find((each) => each.long === long);

describe.each(BENCHES)('bench %s', (name) => {
  test.each(SAME)('takes %s as the others do', (long) => {
    const shape = (each: string): object => {
      const option = optionOf(benchOf(each), long);
      const description = long === '--threshold' ? '' : option?.description;
      return { flags: option?.flags, initial: option?.defaultValue, description };
    };
    expect(shape(name)).toMatchObject({ flags: expect.stringContaining(long) });
    expect(shape(name)).toEqual(shape('gateway'));
  });

  test.each([
    [['--url', 'ws://127.0.0.1:1', '--spawn'], /cannot be used with/],
    [['--spawn', '--json', '--csv'], /cannot be used with/],
    [['--spawn', '--threshold', 'nonsense<1'], /is no threshold/],
    [[], /There is no server to measure/],
  ])('refuses %j', async (argv, reason) => {
    await expect(benchOf(name).parseAsync(argv, { from: 'user' })).rejects.toThrow(reason);
  });

  test('bounds what is lost by the same word', () => {
    const bench = benchOf(name);
    const parse = optionOf(bench, '--threshold')?.parseArg;
    expect(parse?.('lost<1', [])).toEqual(['lost<1']);
    expect(parse?.('dropped<1', ['lost<1'])).toEqual(['lost<1', 'dropped<1']);
  });
});

describe('a run that is over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const page = join(folder, 'run.html');
  const outcome = {
    report: { a: 1 },
    table: () => 'table',
    csv: () => csvTable([[['a', 1]], [['a', 2]]]),
    page: () => '<svg></svg>',
    thresholds: [{ text: 'lost<1', kept: true }],
    failures: [],
  };
  const failure = { message: '3 of 9 sends were refused (3 × 429)', advice: 'Start it without limits.' };

  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = 0;
  });

  function presented(flags: Parameters<typeof present>[0], more: Partial<typeof outcome> = {}) {
    const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    process.exitCode = 0;
    present(flags, { ...outcome, ...more });
    const text = (spy: typeof out): string => spy.mock.calls.map(([chunk]) => String(chunk)).join('');
    const found = { out: text(out), err: text(err), code: process.exitCode };
    vi.restoreAllMocks();
    process.exitCode = 0;
    return found;
  }

  test.each([
    [{}, 'table\n'],
    [{ json: true }, '{"a":1}\n'],
    [{ csv: true }, 'a\n1\n2\n'],
  ] as const)('is printed with %j in that form alone', (flags, out) => {
    expect(presented(flags)).toEqual({ out, err: '', code: 0 });
  });

  test.each([{}, { json: true }, { csv: true }] as const)(
    'exits 1 with %j when it failed, and says why and what to do on the error stream',
    (flags) => {
      const { err, code } = presented(flags, { failures: [failure] as never[] });
      expect(code).toBe(1);
      expect(err).toBe(`guildhall: The run failed: ${failure.message}.\n${failure.advice}\n`);
    },
  );

  test('exits 1 when it missed a threshold', () => {
    const { err, code } = presented({ json: true }, { thresholds: [{ text: 'p99<1ms', kept: false }] });
    expect({ err, code }).toEqual({ err: 'guildhall: Thresholds missed: p99<1ms.\n', code: 1 });
  });

  test('is written as a page beside what is printed', () => {
    expect(presented({ report: page }).out).toBe('table\n');
    expect(readFileSync(page, 'utf8')).toBe('<svg></svg>');
    rmSync(folder, { recursive: true });
  });
});
