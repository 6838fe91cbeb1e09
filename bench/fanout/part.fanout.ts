import { type Heat, Load, Stand } from './arena.ts';
import { ENTRANTS } from './contenders.ts';
import type { Entrant } from './entrant.ts';
import type { Finding } from './parts.ts';
import { ratiosOf, show, spreadOf, verdictOf } from './spread.ts';

const CONNECTIONS = 1000;
const WARMUP = 20;
const MESSAGES = 100;
/** Messages for the contender that compresses per connection, which takes ten times as long. */
const MESSAGES_SLOW = 12;
const SLOW = 'socket-deflate';

/** Upper bounds of the ratio to the reference's CPU per delivery. */
const TARGETS: Readonly<Record<string, number>> = {
  'socket-deflate': 0.15,
  'socketio-room': 0.75,
  'ws-stringify-once': 0.95,
  'uws-publish': 1.5,
};

interface Race {
  readonly rounds: number;
  readonly flushes: (entrant: Entrant) => number;
  readonly perFlush: number;
  readonly targets: Readonly<Record<string, number>>;
}

/** Measures one message to all connections, each flushed separately (G1). */
export async function measureFanout(rounds: number): Promise<Finding> {
  return race(ENTRANTS, {
    rounds,
    flushes: ({ name }) => (name === SLOW ? MESSAGES_SLOW : MESSAGES),
    perFlush: 1,
    targets: TARGETS,
  });
}

/** Runs the contenders in alternation, all alive at once; compares the first with the others. */
export async function race(entrants: readonly Entrant[], plan: Race): Promise<Finding> {
  const { rounds, perFlush } = plan;
  const load = new Load();
  const stands: Stand[] = [];
  for (const [crowd, entrant] of entrants.entries())
    stands.push(await Stand.open(entrant, CONNECTIONS, load, crowd));
  const heats = new Map<string, Heat[]>(entrants.map(({ name }) => [name, []]));
  for (const stand of stands) await stand.heat(Math.ceil(WARMUP / perFlush), perFlush);
  for (let round = 0; round < rounds; round += 1)
    for (const stand of stands)
      heats.get(stand.entrant.name)?.push(await stand.heat(plan.flushes(stand.entrant), perFlush));
  for (const stand of stands) stand.close();
  load.end();
  return judge(heats, plan);
}

function judge(heats: ReadonlyMap<string, readonly Heat[]>, { rounds, perFlush, targets }: Race): Finding {
  const [ours, ...others] = [...heats.keys()] as [string, ...string[]];
  const cpuOf = (name: string): number[] => (heats.get(name) ?? []).map((heat) => heat.cpuMicrosPerDelivery);
  const rows = [...heats].map(([name, each]) => ({
    name,
    cpuMicrosPerDelivery: spreadOf(cpuOf(name)),
    deliveriesPerSecond: spreadOf(each.map((heat) => heat.deliveriesPerSecond)),
    payloadBytesPerDelivery: each[0]?.payloadBytesPerDelivery ?? 0,
    heats: each,
  }));
  const ratios = others.map((name) => {
    const ratio = ratiosOf(cpuOf(ours), cpuOf(name));
    const target = targets[name] ?? null;
    return { over: name, ratio, target, verdict: target === null ? null : verdictOf(ratio, target) };
  });
  return {
    lines: [
      `${CONNECTIONS} connections, ${perFlush} message(s) a flush, ${rounds} rounds; CPU-µs per delivery, median (min–max)`,
      ...rows.map(
        ({ name, cpuMicrosPerDelivery, deliveriesPerSecond, payloadBytesPerDelivery }) =>
          `${name.padEnd(20)} ${show(cpuMicrosPerDelivery).padEnd(24)} ${Math.round(deliveriesPerSecond.median)}/s  ${Math.round(payloadBytesPerDelivery)} B`,
      ),
      ...ratios.map(
        ({ over, ratio, target, verdict }) =>
          `${ours} / ${over}: ${show(ratio)}${target === null ? '' : `, target ≤ ${target}: ${verdict}`}`,
      ),
    ],
    figures: { connections: CONNECTIONS, perFlush, rounds, contenders: rows, ratios },
  };
}
