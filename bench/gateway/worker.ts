import { parentPort, workerData } from 'node:worker_threads';
import type { ScoutedGuild } from './connection.ts';
import { Fleet, type FleetPlan, type FleetResult } from './fleet.ts';

/** What a thread says to the one that started it. */
export type FleetNews =
  | { readonly kind: 'progress'; readonly ready: number }
  | { readonly kind: 'scouted'; readonly guilds: readonly ScoutedGuild[] }
  | { readonly kind: 'connected' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'result'; readonly result: FleetResult };

export type FleetOrder =
  | { readonly kind: 'start'; readonly startMicros: number }
  | { readonly kind: 'finish' };

const port = parentPort;
if (port) {
  const say = (news: FleetNews): void => port.postMessage(news);
  const fleet = new Fleet(workerData as FleetPlan, {
    progress: (ready) => say({ kind: 'progress', ready }),
    scouted: (guilds) => say({ kind: 'scouted', guilds }),
  });
  port.on('message', (order: FleetOrder) => {
    if (order.kind === 'start') return fleet.start(order.startMicros);
    say({ kind: 'result', result: fleet.finish() });
    port.close();
  });
  fleet.connect().then(
    () => say({ kind: 'connected' }),
    (error: Error) => say({ kind: 'failed', reason: error.message }),
  );
}
