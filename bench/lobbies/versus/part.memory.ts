import type { Finding } from '../../fanout/parts.ts';
import { ratiosOf, type Spread, show, spreadOf } from '../../fanout/spread.ts';
import { Load, Stand, type Use, type Weight } from './arena.ts';
import { type Manner, MEMBERS_EACH, type Rival, SETTLE_MS } from './orders.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** The first share of the connections joins before the first weighing, which then includes all one-time costs. */
const CONNECTIONS = 12_000;
const FIRST_SHARE = 1 / 4;
const BUDGETS_MIB = [256, 512, 1024, 2048];
const MORE_CONNECTIONS_MIN = 3;

interface Sample {
  readonly start: Weight;
  readonly first: Weight;
  readonly full: Weight;
  /** Connections at the two weighings. */
  readonly firstCount: number;
  readonly fullCount: number;
  /** CPU and time of the joins between the two weighings. */
  readonly joins: Use;
}

/** The line through the two weighings: what a connection adds, and what the process would be without any. */
function lineOf({ first, full, firstCount, fullCount }: Sample): { each: number; base: number } {
  const each = (full.rssBytes - first.rssBytes) / (fullCount - firstCount);
  return { each, base: full.rssBytes - each * fullCount };
}

/** How many connections fit into so much memory. */
const fitting = (sample: Sample, budgetBytes: number): number => {
  const { each, base } = lineOf(sample);
  return Math.max(0, (budgetBytes - base) / each);
};

/** Memory of joined, idle connections in lobbies of ten, and what their joins cost (G8). */
export async function measureMemory(rounds: number): Promise<Finding> {
  const count = Number(process.env.BENCH_CONNECTIONS ?? CONNECTIONS);
  const samples: Record<Rival, Sample[]> = { guildhall: [], colyseus: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const manner of ['guildhall', 'colyseus'] as const)
      samples[manner].push(await sample(manner, count));
  const { guildhall, colyseus } = samples;
  const budgets = BUDGETS_MIB.map((budgetMib) => ({
    budgetMib,
    guildhall: spreadOf(guildhall.map((each) => fitting(each, budgetMib * MIB))),
    colyseus: spreadOf(colyseus.map((each) => fitting(each, budgetMib * MIB))),
    ratio: ratiosOf(
      guildhall.map((each) => fitting(each, budgetMib * MIB)),
      colyseus.map((each) => fitting(each, budgetMib * MIB)),
    ),
  }));
  const database = process.env.BENCH_DATABASE_URL ? 'PostgreSQL outside' : 'the embedded database';
  return {
    lines: [
      `${count} joined, idle connections in lobbies of ${MEMBERS_EACH}; guildhall with ${database}; ${rounds} rounds, median (min–max)`,
      ...linesOf('guildhall', guildhall),
      ...linesOf('colyseus', colyseus),
      ...budgets.map(
        ({ budgetMib, ratio, ...fit }) =>
          `in ${budgetMib} MiB: ${show(fit.guildhall, 0)} and ${show(fit.colyseus, 0)} connections, ` +
          `${show(ratio)} times as many, target ≥ ${MORE_CONNECTIONS_MIN}: ${atLeast(ratio, MORE_CONNECTIONS_MIN)}`,
      ),
    ],
    figures: { connections: count, database, rounds, samples, budgets },
  };
}

function linesOf(name: string, samples: readonly Sample[]): string[] {
  const spread = (of: (sample: Sample) => number): Spread => spreadOf(samples.map(of));
  const perJoin = ({ joins, fullCount, firstCount }: Sample): number =>
    joins.cpuMicros / (fullCount - firstCount);
  const rate = ({ joins, fullCount, firstCount }: Sample): number =>
    ((fullCount - firstCount) * 1e6) / joins.wallMicros;
  return [
    `${name}: ${show(
      spread((each) => lineOf(each).each / KIB),
      1,
    )} KiB a connection, base ${show(
      spread((each) => lineOf(each).base / MIB),
      0,
    )} MiB, ${show(
      spread(({ start }) => start.rssBytes / MIB),
      0,
    )} MiB at the start, ${show(
      spread(({ full }) => full.rssBytes / MIB),
      0,
    )} MiB with all`,
    `  of it heap ${show(
      spread(
        (each) => (each.full.heapBytes - each.first.heapBytes) / (each.fullCount - each.firstCount) / KIB,
      ),
      1,
    )} KiB a connection; a join ${show(spread(perJoin), 0)} CPU-µs, ${show(spread(rate), 0)} joins/s`,
  ];
}

/** A target is missed only when the whole spread is on the wrong side. */
function atLeast({ median, max }: Spread, bound: number): string {
  return median >= bound ? 'met' : max >= bound ? 'within the spread' : 'missed';
}

async function sample(manner: Manner, fullCount: number): Promise<Sample> {
  const firstCount = Math.round((fullCount * FIRST_SHARE) / MEMBERS_EACH) * MEMBERS_EACH;
  const load = new Load();
  const stand = await Stand.open(manner, 'idle', load, 0);
  const start = await stand.weigh();
  await stand.join(firstCount);
  await settle();
  const first = await stand.weigh();
  const joins = await stand.join(fullCount - firstCount);
  await settle();
  const full = await stand.weigh();
  stand.close();
  load.end();
  return { start, first, full, firstCount, fullCount, joins };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
