// Goal: connections that arrive while a shard is busy are kept, so that no client waits for the system to try again.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { portOf } from '../../../protocol/addresses.ts';
import { startServer } from '../../../transports/http/server.ts';

const HOST = '127.0.0.1';
/** More than the native library lets wait at one listening socket. */
const CONNECTIONS = 1_500;
const WITHIN_MS = 15_000;

/** Connects from another thread while this one accepts nothing. @returns the number of connections that were made. */
async function connectWhileBusy(port: number): Promise<number> {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const program = `const { workerData: { port, count, connections } } = require('node:worker_threads');
    const opened = () => Atomics.add(count, 0, 1) + 1 === connections && Atomics.notify(count, 0);
    for (let i = 0; i < connections; i += 1) require('node:net').connect(port, '${HOST}', opened).on('error', () => {});`;
  const worker = new Worker(program, { eval: true, workerData: { port, count, connections: CONNECTIONS } });
  await once(worker, 'online');
  const untilMs = performance.now() + WITHIN_MS;
  for (let seen = 0; seen < CONNECTIONS && performance.now() < untilMs; seen = Atomics.load(count, 0))
    Atomics.wait(count, 0, seen, WITHIN_MS);
  await worker.terminate();
  return Atomics.load(count, 0);
}

test(
  'a shard that is busy keeps 1,500 connections waiting',
  async () => {
    const probe = createServer().listen(0, HOST);
    await once(probe, 'listening');
    const port = portOf(probe.address());
    probe.close();
    await once(probe, 'close');
    const server = await startServer({ host: HOST, port, installers: [], shared: true });
    try {
      expect(await connectWhileBusy(port)).toBe(CONNECTIONS);
    } finally {
      server.close();
    }
  },
  2 * WITHIN_MS,
);
