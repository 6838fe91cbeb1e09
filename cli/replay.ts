import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Engine } from '../embedding.ts';
import { isRecord } from '../protocol/json.ts';
import { parseRecordedLine, RECORDING_VERSION, type RecordedLine } from '../protocol/recording.ts';
import { codeOf, messageOf } from '../protocol/thrown.ts';
import type { Recorder } from '../transports/recording/recorder.ts';
import { seedDemo } from './demo.ts';
import { wholeFrom } from './flags.ts';
import { runGuide } from './guide.ts';
import { liveBot } from './replaybot.ts';
import { ReplayMapping } from './replaymapping.ts';
import { playRecording, type ReplayReport, type ReplayTarget } from './replayplayer.ts';
import { CommandError, printResult, type World } from './world.ts';

const FILE_BYTES_MAX = 512 * 1024 * 1024;
const TIMEOUT_MS_MAX = 600_000;
const SHOWN_MAX = 50;
const TEXT_MAX = 120;

interface ReplayFlags {
  readonly against?: string;
  readonly demo?: string;
  readonly bot?: string;
  readonly timeout: number;
  readonly json?: true;
}

type Begin = Extract<RecordedLine, { kind: 'begin' }>;

/** Adds `replay`. `done` gets the exit code: 1 when an answer differs. */
export function addReplayCommand(program: Command, world: World, done: (code: number) => void): void {
  program
    .command('replay')
    .description('replay a recording of `guildhall dev --record`, and report where the answers differ')
    .argument('<file>', 'the recording')
    .option('--against <url>', 'a server that `guildhall dev` started (default: a new one, in memory)')
    .option('--demo <file>', 'what `guildhall dev --json` printed there; needed with --against')
    .option('--bot <name>', 'wait for this bot to connect, leave its part to it, and compare what it does')
    .option('--timeout <ms>', 'how long an expected answer may take', wholeFrom(1, TIMEOUT_MS_MAX), 3_000)
    .option('--json', 'as one JSON line')
    .action(async (file: string, flags: ReplayFlags) => {
      const lines = await readRecording(world, file);
      const report =
        flags.against === undefined
          ? await replayHere(world, lines, flags)
          : await replayThere(world, lines, flags);
      printResult(world, flags.json === true, report, reportLines(report));
      done(report.departures.length === 0 ? 0 : 1);
    });
}

async function readRecording({ cwd }: World, file: string): Promise<readonly RecordedLine[]> {
  const path = resolve(cwd, file);
  const { size } = await stat(path).catch((error: unknown) => {
    throw new CommandError(
      `${file} cannot be read: ${messageOf(error)}.`,
      'Name a file of `guildhall dev --record`.',
    );
  });
  if (size > FILE_BYTES_MAX)
    throw new CommandError(`${file} is larger than any recording.`, 'Name another file.');
  const texts = (await readFile(path, 'utf8')).split('\n').filter((text) => text !== '');
  const lines = texts.map((text, index) => {
    try {
      return parseRecordedLine(text);
    } catch (error) {
      throw new CommandError(
        `${file}:${index + 1}: ${messageOf(error)}`,
        'The file is damaged, or no recording.',
      );
    }
  });
  const [begin] = lines;
  if (begin?.kind !== 'begin')
    throw new CommandError(
      `${file} has no first line of a recording.`,
      'Name a file of `guildhall dev --record`.',
    );
  if (begin.version !== RECORDING_VERSION)
    throw new CommandError(
      `${file} has format ${begin.version}; this version reads ${RECORDING_VERSION}.`,
      'Record again.',
    );
  return lines;
}

const demoOf = (lines: readonly RecordedLine[]): unknown => lines.find(({ kind }) => kind === 'demo') ?? null;

/** Plays against a running server; a file describes its demo. */
async function replayThere(
  { cwd }: World,
  lines: readonly RecordedLine[],
  flags: ReplayFlags,
): Promise<ReplayReport> {
  const url = flags.against ?? '';
  if (!URL.canParse(url))
    throw new CommandError(`${url} is not a URL.`, 'Write --against http://127.0.0.1:3000');
  if (flags.bot !== undefined)
    throw new CommandError('--bot needs a server of its own.', 'Leave out --against.');
  if (flags.demo === undefined)
    throw new CommandError(
      'A replay needs the tokens of that server.',
      'Start it with `guildhall dev --json > dev.json`, and add --demo dev.json.',
    );
  const text = await readFile(resolve(cwd, flags.demo), 'utf8').catch((error: unknown) => {
    throw new CommandError(
      `${flags.demo} cannot be read (${codeOf(error)}).`,
      'Name the output of `guildhall dev --json`.',
    );
  });
  const demo: unknown = JSON.parse(text.split('\n').find((line) => line.startsWith('{')) ?? 'null');
  const base = url.replace(/\/+$/, '').replace(/\/api(\/v\d+)?$/, '');
  const target = { api: `${base}/api`, gateway: base.replace(/^http/, 'ws') };
  return play(lines, target, demo, flags, null);
}

/** Plays against a new server in memory with the demo of the recording. */
async function replayHere(
  world: World,
  lines: readonly RecordedLine[],
  flags: ReplayFlags,
): Promise<ReplayReport> {
  const begin = lines[0] as Begin;
  const createEngine = await world.loadEngine();
  const live = flags.bot === undefined ? null : liveBot(lines, flags.bot, flags.timeout);
  const recorder: { readonly recorder?: Recorder } = live === null ? {} : { recorder: live.recorder };
  const engine: Engine = await createEngine({
    config: {
      ...{ listen_port: 0, admin_port: 0, log_level: 'error', playground: true, rate_limits: false },
      ...{ attachment_signatures_required: false, contract_date: begin.contract_date },
    },
    ...recorder,
  });
  try {
    const addresses = await engine.listen();
    const demo = await seedDemo(engine, { bots: begin.bots, guide: begin.guide });
    if (demo.guide) runGuide(engine, demo.guide);
    if (live !== null) await waitForBot(world, live, addresses.api, demo);
    return await play(lines, addresses, demo, flags, live);
  } finally {
    await engine.close();
  }
}

async function waitForBot(
  world: World,
  live: ReturnType<typeof liveBot>,
  api: string,
  { bots }: { readonly bots: readonly { readonly id: string; readonly token: string }[] },
): Promise<void> {
  const bot = bots[live.index];
  if (bot === undefined) throw new CommandError('The recording has no such bot.', 'Name one of its bots.');
  world.err(
    `Start your bot with this server and token; the replay begins when it is connected.\n  API    ${api}\n  Token  ${bot.token}`,
  );
  await live.connected(bot.id, world.untilToldToStop());
}

function play(
  lines: readonly RecordedLine[],
  target: ReplayTarget,
  demo: unknown,
  { timeout: timeoutMs }: ReplayFlags,
  live: ReturnType<typeof liveBot> | null,
): Promise<ReplayReport> {
  const mapping = live?.mapping ?? new ReplayMapping();
  const recorded = demoOf(lines);
  // Only teaches ids and secrets; the recording has more fields, such as addresses.
  if (isRecord(recorded)) mapping.compare(recorded.demo, demo);
  return playRecording({ lines, target, mapping, live, timeoutMs });
}

function reportLines({ calls, frames, dispatches, departures }: ReplayReport): string[] {
  const sum = `Played ${calls} calls and ${frames} gateway frames, compared ${dispatches} dispatches:`;
  if (departures.length === 0) return [`${sum} all answers are the same.`];
  const shown = departures
    .slice(0, SHOWN_MAX)
    .flatMap(({ line, what, differences }) => [
      `  ${line === 0 ? 'at the end' : `line ${line}`}: ${what}`,
      ...differences.map(
        ({ path, recorded, replayed }) =>
          `    ${path === '' ? '' : `${path}: `}${textOf(recorded)} → ${textOf(replayed)}`,
      ),
    ]);
  const more = departures.length - SHOWN_MAX;
  return [
    `${sum} ${departures.length} differ.`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more; --json has all`] : []),
  ];
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
