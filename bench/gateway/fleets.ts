import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Fleet, type FleetEvents, type FleetPlan } from './fleet.ts';
import { type RunningFleet, remoteFleet } from './remotefleet.ts';
import type { FleetNews, FleetOrder } from './worker.ts';

export function inlineFleet(plan: FleetPlan, events: FleetEvents): RunningFleet {
  const fleet = new Fleet(plan, events);
  return {
    connect: () => fleet.connect(),
    start: (startMicros) => fleet.start(startMicros),
    deliveries: async () => fleet.deliveries,
    lap: async () => fleet.lap(),
    finish: async () => fleet.finish(),
    abandon: async () => fleet.finish(),
  };
}

/** Starts a fleet in its own thread. */
export function threadFleet(plan: FleetPlan, events: FleetEvents): RunningFleet {
  return remoteFleet(events, (host) => {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: plan });
    worker.on('error', host.failed);
    worker.on('exit', () => host.failed(new Error('A thread of connections ended.')));
    worker.on('message', host.news);
    return { send: (order) => worker.postMessage(order), end: () => worker.terminate() };
  });
}

/** Starts a fleet in its own process, because a system limits the sockets of a process. */
export function processFleet(plan: FleetPlan, events: FleetEvents): RunningFleet {
  return remoteFleet(events, (host) => {
    const child = fork(fileURLToPath(new URL('./worker.js', import.meta.url)), { serialization: 'advanced' });
    child.on('error', host.failed);
    child.on('exit', () => host.failed(new Error('A process of connections ended.')));
    child.on('message', (news) => host.news(news as FleetNews));
    child.send({ kind: 'plan', plan } satisfies FleetOrder);
    return { send: (order) => child.send(order), end: () => child.kill() };
  });
}
