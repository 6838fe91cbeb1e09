import { present } from '../../protocol/present.ts';
import { nowNs } from '../wire/pace.ts';
import { Load, type PacedHeat, Stand } from './arena.ts';
import { ENTRANTS } from './contenders.ts';
import type { Finding } from './parts.ts';
import { percentileOf, ratiosOf, show, spreadOf, verdictOf } from './spread.ts';

const CONNECTIONS = 1000;
const HALF_LOAD = 0.5;
const IDLE_LOAD = 0.1;
const BURST = 5;
const SECONDS = 4;
const CALIBRATION_MESSAGES = 60;
const START_DELAY_NS = 200e6;

interface Runs {
  readonly stand: Stand;
  /** CPU seconds of one message to all connections. */
  readonly cost: number;
  readonly half: PacedHeat[];
  readonly idle: PacedHeat[];
  readonly burst: PacedHeat[];
}

async function at(stand: Stand, load: number, cost: number): Promise<PacedHeat> {
  const perSecond = load / cost;
  return stand.paced(perSecond, Math.max(20, Math.round(perSecond * SECONDS)), nowNs() + START_DELAY_NS);
}

/**
 * Measures when a message reaches the last of a thousand connections (G7): with half a processor for each contender at the
 * rate which that allows, and in a burst of five times an idle rate.
 */
export async function measureLatency(rounds: number): Promise<Finding> {
  const load = new Load();
  const entrants = ['guildhall', 'socketio-room'].map((name) =>
    present(ENTRANTS.find((each) => each.name === name)),
  );
  const all: Runs[] = [];
  for (const [crowd, entrant] of entrants.entries()) {
    const stand = await Stand.open(entrant, CONNECTIONS, load, crowd);
    await stand.heat(CALIBRATION_MESSAGES, 1);
    const { cpuMicrosPerDelivery } = await stand.heat(CALIBRATION_MESSAGES, 1);
    all.push({ stand, cost: (cpuMicrosPerDelivery * CONNECTIONS) / 1e6, half: [], idle: [], burst: [] });
  }
  for (let round = 0; round < rounds; round += 1)
    for (const { stand, cost, half, idle, burst } of all) {
      half.push(await at(stand, HALF_LOAD, cost));
      idle.push(await at(stand, IDLE_LOAD, cost));
      burst.push(await at(stand, IDLE_LOAD * BURST, cost));
    }
  for (const { stand } of all) stand.close();
  load.end();
  return judge(all as [Runs, Runs], rounds);
}

const p99s = (heats: readonly PacedHeat[]): number[] =>
  heats.map(({ latencyMs }) => percentileOf(latencyMs, 99));

function judge([ours, reference]: readonly [Runs, Runs], rounds: number): Finding {
  const ratio = ratiosOf(p99s(ours.half), p99s(reference.half));
  const burst = ratiosOf(p99s(ours.burst), p99s(ours.idle));
  const rows = [ours, reference].map(({ stand, half, idle }) => ({
    name: stand.entrant.name,
    p50Ms: spreadOf(half.map(({ latencyMs }) => percentileOf(latencyMs, 50))),
    p99Ms: spreadOf(p99s(half)),
    idleP99Ms: spreadOf(p99s(idle)),
    cpuShare: spreadOf(half.map(({ cpuShare }) => cpuShare)),
  }));
  return {
    lines: [
      `send to receipt by the last of ${CONNECTIONS}, ${rounds} rounds of ${SECONDS} s; ms, median (min–max)`,
      ...rows.map(
        ({ name, p50Ms, p99Ms, cpuShare }) =>
          `${name.padEnd(20)} p50 ${show(p50Ms, 1)}  p99 ${show(p99Ms, 1)}  at ${show(cpuShare)} of a processor`,
      ),
      `p99 guildhall / socketio-room: ${show(ratio)}, target ≤ 0.6: ${verdictOf(ratio, 0.6)}`,
      `p99 in a ${BURST}× burst / idle: ${show(burst)}, target ≤ 3: ${verdictOf(burst, 3)}`,
    ],
    figures: { connections: CONNECTIONS, rounds, contenders: rows, ratio, burst },
  };
}
