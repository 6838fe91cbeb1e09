// Goal: `bench gateway`, `bench lobbies` and `bench voice` take the same options with the same meaning, and a run that
// failed says so whatever form was asked for.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, type Option } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { About } from '../../bench/about.ts';
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
    page: () => '<body><svg></svg></body>',
    thresholds: [{ text: 'lost<1', kept: true }],
    failures: [],
  };
  const about: About = {
    date: '2026-01-02T03:04:05.000Z',
    machine: 'CPU X',
    cores: 2,
    memoryBytes: 2 ** 33,
    system: 'linux 6.1 x64',
    node: 'v20.0.0',
    guildhall: '1.2.3',
    command: 'guildhall bench gateway',
    seed: null,
    loadBefore: 0.5,
    loadAfter: 1,
    generator: { cpuShare: 0.25, loopDelayP99Ms: 1 },
    starved: [],
  };
  const measured = [
    ['date', '2026-01-02T03:04:05.000Z'],
    ['machine', 'CPU X, 2 cores, 8.0 GiB'],
    ['system, Node, Guildhall', 'linux 6.1 x64, v20.0.0, 1.2.3'],
    ['command', 'guildhall bench gateway'],
    ['seed', 'none (heartbeat and retry jitter and the join order of --storm are random)'],
    ['load before, after', '0.50, 1.00'],
    ['generator CPU, loop delay p99', '25 % of a core, 1.0 ms'],
  ] as const;
  const table = `${measured.map(([name, value]) => `  ${name.padEnd(29)}  ${value}\n`).join('')}\ntable\n`;
  const failure = { message: '3 of 9 sends were refused (3 × 429)', advice: 'Start it without limits.' };

  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = 0;
  });

  function presented(
    flags: Parameters<typeof present>[0],
    more: Partial<typeof outcome> = {},
    starved: readonly string[] = [],
  ) {
    const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    process.exitCode = 0;
    present(flags, { ...outcome, ...more }, { end: () => ({ ...about, starved }) });
    const text = (spy: typeof out): string => spy.mock.calls.map(([chunk]) => String(chunk)).join('');
    const found = { out: text(out), err: text(err), code: process.exitCode };
    vi.restoreAllMocks();
    process.exitCode = 0;
    return found;
  }

  test.each([
    [{}, table],
    [{ json: true }, `${JSON.stringify({ a: 1, about })}\n`],
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

  test.each([{}, { json: true }, { csv: true }] as const)(
    'warns of a starved generator on the error stream with %j, and does not fail',
    (flags) => {
      const { out, err, code } = presented(flags, {}, ['it used 1.9 of 2 cores']);
      expect({ err, code }).toEqual({
        err: 'guildhall: The generator was starved, so the figures are not those of the server alone: it used 1.9 of 2 cores.\n',
        code: 0,
      });
      expect(out.includes('it used 1.9 of 2 cores')).toBe(!('csv' in flags));
    },
  );

  test('is written as a page beside what is printed, with machine, versions, command and load', () => {
    expect(presented({ report: page }).out).toBe(table);
    const rows = measured.map(([name, value]) => `<tr><td>${name}</td><td>${value}</td></tr>`).join('\n');
    expect(readFileSync(page, 'utf8')).toBe(
      `<body><svg></svg><h2>How it was measured</h2><table>${rows}</table></body>`,
    );
    rmSync(folder, { recursive: true });
  });
});
