import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Fleet, type FleetEvents, type FleetPlan, type FleetResult } from './fleet.ts';
import type { FleetNews, FleetOrder } from './worker.ts';

/** A fleet, in this thread or elsewhere. */
export interface RunningFleet {
  connect(): Promise<void>;
  start(startMicros: number): void;
  /** Number of deliveries since the last lap. */
  deliveries(): Promise<number>;
  /** Returns the results so far; the fleet continues and counts from 0. */
  lap(): Promise<FleetResult>;
  finish(): Promise<FleetResult>;
  /** Stops it in any state. */
  abandon(): Promise<unknown>;
}

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

/** Runs a fleet in another thread or process. */
interface Host {
  send(order: FleetOrder): void;
  end(): unknown;
}

interface HostEvents {
  news(news: FleetNews): void;
  failed(error: Error): void;
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

interface Waiter<Value> {
  resolve(value: Value): void;
  reject(error: Error): void;
}

/** @param open Starts the host. When it fails, every request in progress and every later one is rejected. */
export function remoteFleet(events: FleetEvents, open: (events: HostEvents) => Host): RunningFleet {
  let host: Host | null = null;
  let failure: Error | null = null;
  let connected: Waiter<void> | null = null;
  let counted: Waiter<number> | null = null;
  let ended: Waiter<FleetResult> | null = null;

  const ask = <Value>(wait: (waiter: Waiter<Value>) => void, send: () => void): Promise<Value> =>
    new Promise((resolve, reject) => {
      if (failure) return reject(failure);
      wait({ resolve, reject });
      send();
    });
  const resultOf = (kind: 'lap' | 'finish'): Promise<FleetResult> =>
    ask<FleetResult>(
      (waiter) => {
        ended = waiter;
      },
      () => host?.send({ kind }),
    );

  function failed(error: Error): void {
    failure ??= error;
    for (const waiter of [connected, counted, ended]) waiter?.reject(failure);
  }

  function news(each: FleetNews): void {
    if (each.kind === 'progress') events.progress(each.ready);
    else if (each.kind === 'scouted') events.scouted(each.guilds);
    else if (each.kind === 'connected') connected?.resolve();
    else if (each.kind === 'failed') failed(new Error(each.reason));
    else if (each.kind === 'counted') counted?.resolve(each.deliveries);
    else ended?.resolve(each.result);
  }

  return {
    connect: () =>
      ask<void>(
        (waiter) => {
          connected = waiter;
        },
        () => {
          host = open({ news, failed });
        },
      ),
    start: (startMicros) => host?.send({ kind: 'start', startMicros }),
    deliveries: () =>
      ask<number>(
        (waiter) => {
          counted = waiter;
        },
        () => host?.send({ kind: 'count' }),
      ),
    lap: () => resultOf('lap'),
    finish: () => resultOf('finish'),
    abandon: async () => host?.end(),
  };
}
