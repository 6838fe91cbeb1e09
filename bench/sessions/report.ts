import { cpus, loadavg, totalmem } from 'node:os';
import type { Plan } from './plan.ts';
import type { Figures, Round, Sample } from './run.ts';

const GIB = 2 ** 30;
const BAR = 30;
const LINES = 24;

/** G27. Figures of fewer sessions are judged as a hundred thousand would have them. */
const TARGETS = { sessions: 100_000, connectSeconds: 300, rssMib: 1.2 * 1024, idleShare: 0.15, p99Ms: 5000 };

interface Target {
  readonly what: string;
  readonly measured: string;
  /** In proportion to the sessions, beyond what the server takes without any. */
  readonly atTarget: string;
  readonly target: string;
  readonly isMet: boolean;
}

interface SessionsRecord extends Figures {
  readonly part: 'sessions';
  readonly at: string;
  readonly machine: object;
  readonly plan: Omit<Plan, 'databaseUrl'>;
  readonly targets: readonly Target[];
  /** Whether every message came once, in order, and every session stayed or was resumed. */
  readonly isWhole: boolean;
}

const isComplete = ({ expected, received }: Round): boolean => received === expected;

export function recordOf({ databaseUrl: _secret, ...plan }: Plan, figures: Figures): SessionsRecord {
  const { connectSeconds, samples, emptyShare, idleShare, before, killed, counts } = figures;
  const scale = TARGETS.sessions / plan.sessions;
  const { emptyRssMib, onceMib } = figures;
  const highestMib = Math.max(...samples.map(({ rssMib }) => rssMib));
  const settledMib = samples.findLast(({ phase }) => phase === 'idle')?.rssMib ?? highestMib;
  const rssAtTarget = (rssMib: number): number => emptyRssMib + (rssMib - emptyRssMib) * scale;
  const onceAtTarget = onceMib.empty + (onceMib.idle - onceMib.empty) * scale;
  const [empty, idle] = [emptyShare * 100, idleShare * 100];
  const bounds: readonly [what: string, measured: number, atTarget: number, bound: number, unit: string][] = [
    ['all connect', connectSeconds, connectSeconds * scale, TARGETS.connectSeconds, 's'],
    ['highest resident memory of the server', highestMib, rssAtTarget(highestMib), TARGETS.rssMib, 'MiB'],
    ['resident memory at the end of idling', settledMib, rssAtTarget(settledMib), TARGETS.rssMib, 'MiB'],
    ['the same, shared pages once', onceMib.idle, onceAtTarget, TARGETS.rssMib, 'MiB'],
    ['CPU while idle', idle, empty + (idle - empty) * scale, TARGETS.idleShare * 100, '% of a core'],
    ['p99 of a message to every guild', before.p99Ms, before.p99Ms * scale, TARGETS.p99Ms, 'ms'],
  ];
  const after: typeof bounds = killed
    ? [['the same after a kill', killed.after.p99Ms, killed.after.p99Ms * scale, TARGETS.p99Ms, 'ms']]
    : [];
  const targets = [...bounds, ...after].map(([what, measured, atTarget, bound, unit]) => ({
    ...{ what, measured: `${round(measured)} ${unit}`, atTarget: `${round(atTarget)} ${unit}` },
    ...{ target: `≤ ${round(bound)} ${unit}`, isMet: atTarget <= bound },
  }));
  const isBack = killed === null || (isComplete(killed.after) && killed.identified === 0);
  const isUnbroken =
    counts.closed === (killed?.sessions ?? 0) &&
    counts.identified === plan.sessions &&
    counts.unanswered === 0;
  const isWhole = isComplete(before) && isBack && isUnbroken && counts.lost + counts.doubled === 0;
  return {
    part: 'sessions',
    at: new Date().toISOString(),
    machine: {
      ...{ node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length },
      ...{ memoryGib: Math.round(totalmem() / GIB), load: loadavg() },
      /** An allocator in place of the system's. */
      preloaded: process.env.LD_PRELOAD ?? null,
    },
    ...{ plan, ...figures, targets, isWhole },
  };
}

const round = (value: number): string =>
  value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US');

/** The figures as text, with a picture of memory and CPU over time. */
export function textOf({ plan, targets, before, killed, counts, samples, isWhole }: SessionsRecord): string {
  const row = ({ what, measured, atTarget, target, isMet }: Target): string =>
    `  ${what.padEnd(38)} ${measured.padStart(16)} ${atTarget.padStart(16)} ${target.padStart(18)}  ${isMet ? 'met' : 'MISSED'}`;
  return [
    `${plan.sessions.toLocaleString('en-US')} sessions in ${plan.guilds} guilds, ${plan.shards} processes`,
    `  ${' '.repeat(38)} ${'measured'.padStart(16)} ${'at 100,000'.padStart(16)} ${'target'.padStart(18)}`,
    ...targets.map(row),
    `  messages: ${roundText(before)}`,
    killed
      ? `  killed: ${killed.sessions} sessions were away, all back after ${killed.backSeconds.toFixed(1)} s, ${killed.identified} of them without RESUME; messages then: ${roundText(killed.after)}`
      : '  No process was killed: the others could not have held all sessions with the files that each may open.',
    `  numbers left out ${counts.lost}, repeated ${counts.doubled}; heartbeats without answer ${counts.unanswered}, op 9 ${counts.invalid}`,
    picture(samples),
    isWhole ? 'Nothing was lost.' : 'INCOMPLETE: see above.',
  ].join('\n');
}

const roundText = ({ expected, received, p50Ms, maxMs }: Round): string =>
  `${received} of ${expected} received, p50 ${p50Ms} ms, max ${maxMs} ms`;

function picture(samples: readonly Sample[]): string {
  const most = Math.max(1, ...samples.map(({ rssMib }) => rssMib));
  const every = Math.max(1, Math.ceil(samples.length / LINES));
  const bar = (share: number): string => '█'.repeat(Math.round(Math.min(1, share) * BAR)).padEnd(BAR);
  const lines = samples
    .filter((_, at) => at % every === 0)
    .map(({ seconds, phase, rssMib, cpuShare }) => {
      const memory = `${bar(rssMib / most)} ${rssMib.toFixed(0).padStart(6)} MiB`;
      return `${String(seconds).padStart(6)} s ${phase.padEnd(10)} ${memory}  ${bar(cpuShare / 2)} ${(cpuShare * 100).toFixed(0).padStart(4)} % of a core`;
    });
  return lines.join('\n');
}
