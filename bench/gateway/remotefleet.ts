import type { FleetEvents, FleetResult } from './fleet.ts';
import type { FleetNews, FleetOrder } from './worker.ts';

/** A fleet in this or another thread. */
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

/** Runs a fleet in another thread or process. */
interface Host {
  send(order: FleetOrder): void;
  end(): unknown;
}

interface HostEvents {
  news(news: FleetNews): void;
  failed(error: Error): void;
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
