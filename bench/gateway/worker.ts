import { parentPort, workerData } from 'node:worker_threads';
import type { ScoutedGuild } from './connection.ts';
import { Fleet, type FleetPlan, type FleetResult } from './fleet.ts';

/** Messages of a thread or process to the one that started it. */
export type FleetNews =
  | { readonly kind: 'progress'; readonly ready: number }
  | { readonly kind: 'scouted'; readonly guilds: readonly ScoutedGuild[] }
  | { readonly kind: 'connected' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'counted'; readonly deliveries: number }
  | { readonly kind: 'result'; readonly result: FleetResult };

export type FleetOrder =
  /** The first message to a process; a thread gets its plan at its start. */
  | { readonly kind: 'plan'; readonly plan: FleetPlan }
  | { readonly kind: 'start'; readonly startMicros: number }
  | { readonly kind: 'count' }
  | { readonly kind: 'lap' }
  | { readonly kind: 'finish' };

type Say = (news: FleetNews) => void;

/** Runs the fleet. @returns the handler of further messages. `end` detaches from the sender of messages. */
function run(plan: FleetPlan, say: Say, end: () => void): (order: FleetOrder) => void {
  const fleet = new Fleet(plan, {
    progress: (ready) => say({ kind: 'progress', ready }),
    scouted: (guilds) => say({ kind: 'scouted', guilds }),
  });
  fleet.connect().then(
    () => say({ kind: 'connected' }),
    (error: Error) => say({ kind: 'failed', reason: error.message }),
  );
  return (order) => {
    if (order.kind === 'start') fleet.start(order.startMicros);
    if (order.kind === 'count') say({ kind: 'counted', deliveries: fleet.deliveries });
    if (order.kind === 'lap') say({ kind: 'result', result: fleet.lap() });
    if (order.kind !== 'finish') return;
    say({ kind: 'result', result: fleet.finish() });
    end();
  };
}

const port = parentPort;
if (port) {
  const obey = run(
    workerData as FleetPlan,
    (news) => port.postMessage(news),
    () => port.close(),
  );
  port.on('message', obey);
} else if (process.send) {
  const say: Say = (news) => void process.send?.(news);
  let obey: ((order: FleetOrder) => void) | null = null;
  process.on('message', (order: FleetOrder) => {
    if (order.kind === 'plan') obey = run(order.plan, say, () => process.disconnect());
    else obey?.(order);
  });
  // When the parent process has exited, no other process would end this one.
  process.on('disconnect', () => process.exit());
}
