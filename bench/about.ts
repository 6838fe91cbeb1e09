import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { VERSION } from '../actors/runtime/version.ts';
import { type GeneratorUse, starvedBy } from './starved.ts';

/** Where and how a run was made. */
export interface About {
  readonly date: string;
  readonly machine: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly guildhall: string;
  readonly command: string;
  /** Null: no bench takes a seed yet; the messages of a run follow from its options. */
  readonly seed: string | null;
  /** Load average of the machine over one minute, before the run. */
  readonly loadBefore: number;
  readonly loadAfter: number;
  /** Resources that the generator used during the run. */
  readonly generator: GeneratorUse;
  /** Reasons why the figures show the generator rather than the server; empty for a sound run. */
  readonly starved: readonly string[];
}

/** Interval between two samples of the event loop's delay. */
const RESOLUTION_MS = 10;
const SECRETS = /((?:--token|--admin-token)[= ])\S+/g;

/** Measures the generator from construction to `end`: CPU of all its threads, event loop delay of the main thread. */
export class RunWatch {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #startMs = performance.now();
  readonly #cpu = process.cpuUsage();
  readonly #loadBefore = loadavg()[0] ?? 0;

  constructor() {
    this.#delay.enable();
  }

  /** @param argv Arguments after the program's name; tokens are masked. */
  end(argv: readonly string[]): About {
    this.#delay.disable();
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = Math.max(1, performance.now() - this.#startMs);
    const generator = {
      cpuShare: (user + system) / 1000 / elapsedMs,
      // The histogram records the interval plus the delay.
      loopDelayP99Ms: Math.max(0, this.#delay.percentile(99) / 1e6 - RESOLUTION_MS),
    };
    const own = { cores: cpus().length, loadBefore: this.#loadBefore, generator };
    return {
      date: new Date().toISOString(),
      machine: cpus()[0]?.model.trim() ?? 'unknown',
      memoryBytes: totalmem(),
      system: `${platform()} ${release()} ${arch()}`,
      node: process.version,
      guildhall: VERSION,
      command: `guildhall ${argv.join(' ')}`.replaceAll(SECRETS, '$1…'),
      seed: null,
      loadAfter: loadavg()[0] ?? 0,
      ...own,
      starved: starvedBy(own),
    };
  }
}

/** Names and values for the table and the page. */
export function aboutFiguresOf(about: About): [string, string][] {
  const { generator } = about;
  return [
    ['date', about.date],
    ['machine', `${about.machine}, ${about.cores} cores, ${(about.memoryBytes / 2 ** 30).toFixed(1)} GiB`],
    ['system, Node, Guildhall', `${about.system}, ${about.node}, ${about.guildhall}`],
    ['command', about.command],
    ['seed', about.seed ?? 'none (heartbeat and retry jitter and the join order of --storm are random)'],
    ['load before, after', `${about.loadBefore.toFixed(2)}, ${about.loadAfter.toFixed(2)}`],
    [
      'generator CPU, loop delay p99',
      `${(generator.cpuShare * 100).toFixed(0)} % of a core, ${generator.loopDelayP99Ms.toFixed(1)} ms`,
    ],
    ...about.starved.map((why): [string, string] => ['STARVED', why]),
  ];
}
