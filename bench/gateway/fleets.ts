import { Worker } from 'node:worker_threads';
import { Fleet, type FleetEvents, type FleetPlan, type FleetResult } from './fleet.ts';
import type { FleetNews, FleetOrder } from './worker.ts';

/** A fleet, in this thread or another. */
export interface RunningFleet {
  connect(): Promise<void>;
  start(startMicros: number): void;
  finish(): Promise<FleetResult>;
  /** Ends it, whatever state it is in. */
  abandon(): Promise<unknown>;
}

export function inlineFleet(plan: FleetPlan, events: FleetEvents): RunningFleet {
  const fleet = new Fleet(plan, events);
  return {
    connect: () => fleet.connect(),
    start: (startMicros) => fleet.start(startMicros),
    finish: async () => fleet.finish(),
    abandon: async () => fleet.finish(),
  };
}

/** A fleet in a thread of its own. */
export function threadFleet(plan: FleetPlan, events: FleetEvents): RunningFleet {
  let worker: Worker | null = null;
  let finished: ((result: FleetResult) => void) | null = null;
  const order = (each: FleetOrder): void => worker?.postMessage(each);
  return {
    connect: () =>
      new Promise((resolve, reject) => {
        worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: plan });
        worker.on('error', reject);
        worker.on('message', (news: FleetNews) => {
          if (news.kind === 'progress') events.progress(news.ready);
          else if (news.kind === 'scouted') events.scouted(news.guilds);
          else if (news.kind === 'connected') resolve();
          else if (news.kind === 'failed') reject(new Error(news.reason));
          else finished?.(news.result);
        });
      }),
    start: (startMicros) => order({ kind: 'start', startMicros }),
    finish: () =>
      new Promise((resolve) => {
        finished = resolve;
        order({ kind: 'finish' });
      }),
    abandon: async () => worker?.terminate(),
  };
}
